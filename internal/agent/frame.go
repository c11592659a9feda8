package agent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// A Type says what a frame means.
type Type uint8

// The first frame of a stream is a request: TypeStart, TypeCopyIn or TypeCopyOut.
const (
	// TypeStart asks to start a program; its message is [Start]. The answer is TypeStarted or
	// TypeError.
	TypeStart Type = iota + 1
	// TypeCopyIn asks to unpack the archive that follows as TypeData and TypeEOF; its message is
	// [CopyIn]. The answer is TypeEOF or TypeError.
	TypeCopyIn
	// TypeCopyOut asks for an archive; its message is [CopyOut]. The answer is TypeData, then TypeEOF
	// or TypeError.
	TypeCopyOut
	// TypeCancel, to the supervisor, asks to kill the program.
	TypeCancel
	// TypeData holds bytes of an archive, or of standard input towards a program.
	TypeData
	// TypeEOF ends the data.
	TypeEOF
	// TypeStarted says that the program runs. Standard input may be sent, one frame at a time: the
	// next goes out when TypeNext has come back, so that a program which does not read it never
	// holds up a TypeCancel.
	TypeStarted
	// TypeNext says that the program has taken the last frame of standard input.
	TypeNext
	// TypeStdout and TypeStderr hold what the program wrote.
	TypeStdout
	TypeStderr
	// TypeExit is the end of the program and of the stream; its message is [Exit].
	TypeExit
	// TypeError is the end of an operation that failed; its message is [Failure].
	TypeError
)

// The sizes of what a frame holds. A frame of data fits into the window of a stream several times; a
// request may hold as many arguments and variables as Linux passes to a program (2 MiB by default).
const (
	MaxData    = 64 << 10
	maxMessage = 4 << 20
	headerSize = 5
)

// ErrProtocol: the other end sent something that the protocol does not allow at this point.
var ErrProtocol = errors.New("protocol error")

// max is the largest payload of a frame of type t; ok is false for types that do not exist.
func (t Type) max() (limit int, ok bool) {
	switch t {
	case TypeStart, TypeCopyIn, TypeCopyOut, TypeExit, TypeError:
		return maxMessage, true
	case TypeData, TypeStdout, TypeStderr:
		return MaxData, true
	case TypeCancel, TypeEOF, TypeStarted, TypeNext:
		return 0, true
	default:
		return 0, false
	}
}

// A Reader reads frames.
type Reader struct {
	r       io.Reader
	header  [headerSize]byte
	payload bytes.Buffer
}

// NewReader returns a reader of the frames in r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next frame; its payload is valid until the next call. The error is io.EOF at the
// end between two frames, and wraps [ErrProtocol] for a frame that cannot be. No more memory is used
// than bytes have arrived.
func (r *Reader) Next() (Type, []byte, error) {
	if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
		return 0, nil, err
	}
	t, size := Type(r.header[0]), binary.BigEndian.Uint32(r.header[1:])
	limit, ok := t.max()
	if !ok {
		return 0, nil, fmt.Errorf("%w: unknown frame %d", ErrProtocol, t)
	}
	if int64(size) > int64(limit) {
		return 0, nil, fmt.Errorf("%w: frame %d of %d bytes", ErrProtocol, t, size)
	}
	r.payload.Reset()
	if n, err := io.CopyN(&r.payload, r.r, int64(size)); err != nil {
		if n < int64(size) && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return t, r.payload.Bytes(), nil
}

// A Writer writes frames. It may be used concurrently.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

// NewWriter returns a writer of frames to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes one frame in one piece.
func (w *Writer) Write(t Type, payload []byte) error {
	if limit, _ := t.max(); len(payload) > limit {
		return fmt.Errorf("frame %d holds %d bytes, the most is %d", t, len(payload), limit)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], byte(t))
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(payload))) //nolint:gosec // bounded by max above
	w.buf = append(w.buf, payload...)
	_, err := w.w.Write(w.buf)
	return err
}

// Data returns an io.Writer that sends what is written to it as frames of type t.
func (w *Writer) Data(t Type) io.Writer { return dataWriter{w, t} }

type dataWriter struct {
	w *Writer
	t Type
}

func (d dataWriter) Write(p []byte) (int, error) {
	n := 0
	for chunk := range slices.Chunk(p, MaxData) {
		if err := d.w.Write(d.t, chunk); err != nil {
			return n, err
		}
		n += len(chunk)
	}
	return n, nil
}

// A Body reads the archive in the TypeData frames of r, up to TypeEOF. A TypeError is its error.
type Body struct {
	r    *Reader
	rest []byte
	err  error
}

// NewBody returns a reader of the archive that r brings.
func NewBody(r *Reader) *Body { return &Body{r: r} }

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.rest, b.err = b.next()
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *Body) next() ([]byte, error) {
	t, payload, err := b.r.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	switch t {
	case TypeData:
		return payload, nil
	case TypeEOF:
		return nil, io.EOF
	case TypeError:
		return nil, DecodeFailure(payload)
	default:
		return nil, fmt.Errorf("%w: frame %d inside an archive", ErrProtocol, t)
	}
}
