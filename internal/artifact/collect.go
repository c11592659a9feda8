package artifact

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Collect reads two tar archives, of what the hooks captured and of the files with [Extensions] that
// the program left in its working directory, and hands over what is sound: figures in the order they
// were made, then files by age, images first made small enough for lim. Either archive may be nil.
//
// Nothing in them is trusted. A file that is not what it seems, or too much, is an [Omission], not an
// error: the error says that an archive could not be read at all, and the Set is good even then.
func Collect(captured, workdir io.Reader, lim Limits) (Set, error) {
	c := collector{limits: lim.withDefaults()}
	var files [2][]file
	var errs [2]error
	for i, archive := range []io.Reader{captured, workdir} {
		if archive != nil {
			files[i], errs[i] = c.read(archive, i == 0)
		}
	}
	c.identify(inOrder(files[0], files[1]))
	c.fit()
	if c.more > 0 {
		c.omit("", c.more, fmt.Sprintf("more than %d files", c.limits.Count))
	}
	return c.set, errors.Join(errs[:]...)
}

// A collector carries one Collect from step to step.
type collector struct {
	limits Limits
	set    Set
	// total is the number of bytes read, more that of files that were left out for their number.
	total int64
	more  int
	work  budget
}

// identify fills the set with the files that are what they seem to be.
func (c *collector) identify(files []file) {
	taken := make(names)
	figures := 0
	for i, f := range files {
		if len(c.set.Artifacts) == c.limits.Count {
			c.more += len(files) - i
			return
		}
		if f.name == "" {
			figures++
			f.name = fmt.Sprintf("figure-%d%s", figures, f.ext)
		}
		a, reason := c.identifyOne(f)
		if reason != "" {
			c.omit(f.name, 1, reason)
			continue
		}
		a.Name = taken.unique(f.name)
		a.Size = int64(len(f.data))
		c.set.Artifacts = append(c.set.Artifacts, a)
	}
}

// maxNamed is the number of omissions that are named one by one; further ones are only counted.
const maxNamed = 20

// omit records what is not handed over, a file that is captured and left once. Files that share a
// reason are counted together when there are many.
func (c *collector) omit(name string, count int, reason string) {
	named := Omission{Name: name, Count: count, Reason: reason}
	if name != "" && slices.Contains(c.set.Omitted, named) {
		return
	}
	if name != "" && len(c.set.Omitted) < maxNamed {
		c.set.Omitted = append(c.set.Omitted, named)
		return
	}
	for i := range c.set.Omitted {
		if o := &c.set.Omitted[i]; o.Name == "" && o.Reason == reason {
			o.Count += count
			return
		}
	}
	c.set.Omitted = append(c.set.Omitted, Omission{Count: count, Reason: reason})
}

// bytesText writes a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
