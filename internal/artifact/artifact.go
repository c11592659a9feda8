// Package artifact says what came out of a run: it brings the hooks that capture figures, and reads
// what they and the program left without trusting a byte of it.
package artifact

// An Artifact is a picture or a file that the code made.
type Artifact struct {
	// Name is the file name as the program chose it, or a made-up one; it holds no slash and no
	// control character.
	Name string
	// MIME is the true type, from the bytes.
	MIME string
	// Data is what is handed to the client.
	Data []byte
	// Width and Height are in pixels, of Data; 0 for what is not a raster image.
	Width, Height int
	// Original holds the bytes as the program wrote them when Data is a smaller or converted copy,
	// and OriginalMIME their type.
	Original     []byte
	OriginalMIME string
	// Size is the size in bytes of what the program wrote.
	Size int64
	// Link says that Data is too large to be sent along: only a link to it is.
	Link bool
}

// An Omission is something that was there and is not handed over.
type Omission struct {
	// Name is the file's name, or empty when only a count is known.
	Name string
	// Count is the number of files this stands for.
	Count int
	// Reason is a short phrase: "larger than 10 MiB", "not a PNG image", "more than 50 files".
	Reason string
}

// A Set is all that came out of a run, in the order it was made.
type Set struct {
	Artifacts []Artifact
	Omitted   []Omission
}

// Images counts the artifacts that are raster images.
func (s Set) Images() int {
	n := 0
	for _, a := range s.Artifacts {
		if a.Width > 0 {
			n++
		}
	}
	return n
}

// Limits bound what is handed over. A field that is zero or less has its default.
type Limits struct {
	// Inline is the number of bytes, before base64, that all artifacts sent along may have together.
	Inline int64
	// Side is the longest side of an image in pixels.
	Side int
	// File is the largest file taken, in bytes; Total bounds all files together; Count bounds their
	// number.
	File, Total int64
	Count       int
}

// The defaults. Inline and Side are what common clients accept: results below 1 MB after base64, and
// pictures of at most 2000 pixels where there are many.
const (
	DefaultInline = 700_000
	DefaultSide   = 2000
	DefaultFile   = 10 << 20
	DefaultTotal  = 64 << 20
	DefaultCount  = 50
)

func (l Limits) withDefaults() Limits {
	orDefault := func(n, otherwise int64) int64 {
		if n <= 0 {
			return otherwise
		}
		return n
	}
	return Limits{
		Inline: orDefault(l.Inline, DefaultInline),
		Side:   int(orDefault(int64(l.Side), DefaultSide)),
		File:   orDefault(l.File, DefaultFile),
		Total:  orDefault(l.Total, DefaultTotal),
		Count:  int(orDefault(int64(l.Count), DefaultCount)),
	}
}
