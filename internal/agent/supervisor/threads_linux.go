package supervisor

import (
	"runtime"
	"sync"
)

// makeThreads has the runtime make its threads before programs can use up the limit of processes, where
// making one more would end this process ("failed to create new OS thread"). The runtime keeps the
// threads that it has. It was seen to need 10 under load, on two processors; 6 cannot be made this way,
// because they have a purpose of their own.
func makeThreads() {
	const own = 6
	var all sync.WaitGroup
	all.Add(Threads - own)
	for range Threads - own {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // each holds a thread of its own until all do
		}()
	}
}
