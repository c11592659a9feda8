package supervisor

import (
	"runtime"
	"sync"
)

// makeThreads has the runtime make its threads before programs can use up the limit of processes, where
// making one more would end this process ("failed to create new OS thread"). The runtime keeps the
// threads that it has. It was seen to need 10 under load, on two processors; 6 cannot be made this way,
// because they have a purpose of their own.
//
// It returns when they are there. Done while the server makes its first request, it costs a call nothing.
func makeThreads() {
	const own = 6
	// The runtime wants more threads on more processors, and the agent has no use for more.
	if runtime.GOMAXPROCS(0) > maxProcessors {
		runtime.GOMAXPROCS(maxProcessors)
	}
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
	all.Wait()
}

// maxProcessors is how many the agent uses at once.
const maxProcessors = 2
