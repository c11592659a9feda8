package lang

// A Base is what a language builds once per runtime and all sandboxes then share, read-only, below
// their prefix.
type Base struct {
	// Files are put into the working directory before the first step.
	Files []File
	// Steps are run in a sandbox of their own.
	Steps []Step
	// Dir is the directory, relative to the working directory, that the steps leave. It becomes the
	// directory of the same name in the prefix.
	Dir string
	// Scratch says that programs must be able to write over Dir (backend.Spec.Scratch).
	Scratch bool
	// FutureTime says that all files of Dir must get a modification time in the far future. The go
	// command sets the time of a cache entry that it uses if it is older than an hour, which costs a
	// copy of the whole file when Dir is the lower layer of an overlay, and removes entries that are
	// older than five days.
	FutureTime bool
	// Stamp is a file, relative to Dir, that holds the present in seconds since 1970. Whoever keeps
	// Dir writes it anew every day: otherwise the go command looks for old entries in every sandbox,
	// which takes it 70 ms. Empty for none.
	Stamp string
}

// Base returns what is worth building ahead, or nil. The sandbox for its steps has in.WorkDir as its
// working directory and no prefix; the code of in is not used.
func (l *Language) Base(in Input) *Base {
	if l.rules.base == nil {
		return nil
	}
	return l.rules.base(l, in)
}
