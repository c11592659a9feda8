package supervisor

import (
	"encoding/binary"
	"math"

	"golang.org/x/sys/unix"
)

// A mark tells the processes of one program from those of others, also after they have left its
// session, lost their parents and changed their environment. It is a soft RLIMIT_RTTIME: fork and exec
// pass it on, prlimit(2) shows it to the same user, and at this size it limits nothing. A process can
// change its own, and is then found when the last program ends.

// firstMark returns where a supervisor begins to count its marks: a supervisor inside of a program of
// another must not use the other's.
func firstMark() uint64 {
	var b [8]byte
	_, _ = unix.Getrandom(b[:], unix.GRND_NONBLOCK) // without it, two supervisors may agree
	return binary.NativeEndian.Uint64(b[:]) % (math.MaxInt64 / 4)
}

// setMark gives this process, and so what it forks next, the n-th mark. It returns 0 where there can
// be none.
func setMark(n uint64) uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &limit) != nil || limit.Max < math.MaxInt64 {
		return 0
	}
	limit.Cur = math.MaxInt64 - n
	if unix.Setrlimit(unix.RLIMIT_RTTIME, &limit) != nil {
		return 0
	}
	return limit.Cur
}

func hasMark(pid int, mark uint64) bool {
	var limit unix.Rlimit
	return mark != 0 && unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) == nil && limit.Cur == mark
}
