package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// maxPixels is the largest picture that is decoded; 4 bytes each, or 8 for some.
const maxPixels = 40_000_000

// A budget bounds the work of one Collect in pixels. Decoding takes about 8 ns for one, making a copy
// about 50, measured on one core of a small server, so that both together stay near a second.
type budget struct{ decoded, encoded int }

const (
	maxDecoded = 60_000_000
	maxEncoded = 15_000_000
)

func (b *budget) decode(pixels int) bool {
	if b.decoded+pixels > maxDecoded {
		return false
	}
	b.decoded += pixels
	return true
}

func (b *budget) encode(pixels int) bool {
	if b.encoded+pixels > maxEncoded {
		return false
	}
	b.encoded += pixels
	return true
}

// rasterType returns the type that the signature of a raster image claims, or "".
func rasterType(data []byte) (mime string) {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case len(data) >= 26 && string(data[:2]) == "BM" && binary.LittleEndian.Uint32(data[2:]) <= uint32(len(data)):
		return "image/bmp"
	default:
		return ""
	}
}

// identifyRaster checks that an image is whole. What is too large to decode is handed over by link,
// unopened; so is what can be sent to nobody, such as an animation.
func (c *collector) identifyRaster(data []byte, mime string) (a Artifact, reason string) {
	damaged := "a damaged " + map[string]string{
		"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP", "image/bmp": "BMP",
	}[mime] + " image"
	data, whole := wholeImage(data, mime)
	if !whole {
		return Artifact{}, damaged
	}
	config, err := decodeConfig(data, mime)
	if err != nil || config.Width <= 0 || config.Height <= 0 {
		return Artifact{}, damaged
	}
	a = Artifact{MIME: mime, Data: data, Width: config.Width, Height: config.Height}
	pixels := int64(config.Width) * int64(config.Height)
	if pixels > maxPixels || !c.work.decode(int(pixels)) {
		a.Link = true
		return a, ""
	}
	picture, err := decode(data, mime)
	if err != nil {
		return Artifact{}, damaged
	}
	if mime == "image/bmp" {
		return c.convert(a, picture), ""
	}
	return a, ""
}

// convert turns a picture that clients do not show into a PNG.
func (c *collector) convert(a Artifact, picture image.Image) Artifact {
	if !c.work.encode(a.Width * a.Height) {
		a.Link = true
		return a
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		a.Link = true
		return a
	}
	a.Original, a.OriginalMIME = a.Data, a.MIME
	a.Data, a.MIME = out.Bytes(), "image/png"
	return a
}

// decodeConfig reads the size of an image from its header.
func decodeConfig(data []byte, mime string) (image.Config, error) {
	r := bytes.NewReader(data)
	switch mime {
	case "image/png":
		return png.DecodeConfig(r)
	case "image/jpeg":
		return jpeg.DecodeConfig(r)
	case "image/gif":
		return gif.DecodeConfig(r)
	case "image/webp":
		return webp.DecodeConfig(r)
	default:
		return bmp.DecodeConfig(r)
	}
}

// decode decodes an image, of an animation the first frame. A decoder that panics is an error.
func decode(data []byte, mime string) (picture image.Image, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("artifact: decode %s: %v", mime, r)
		}
	}()
	r := bytes.NewReader(data)
	switch mime {
	case "image/png":
		return png.Decode(r)
	case "image/jpeg":
		return jpeg.Decode(r)
	case "image/gif":
		return gif.Decode(r)
	case "image/webp":
		return webp.Decode(r)
	case "image/bmp":
		return bmp.Decode(r)
	default:
		return nil, errors.New("artifact: no decoder for " + mime)
	}
}

// wholeImage says whether an image has its end, and returns it without what follows.
func wholeImage(data []byte, mime string) (image []byte, whole bool) {
	end := -1
	switch mime {
	case "image/png":
		end = endOfPNG(data)
	case "image/jpeg":
		if i := bytes.LastIndex(data, []byte{0xff, 0xd9}); i > 0 {
			end = i + 2
		}
	case "image/gif":
		end = endOfGIF(data)
	case "image/webp":
		if size := int64(binary.LittleEndian.Uint32(data[4:])) + 8; size <= int64(len(data)) {
			end = int(size)
		}
	case "image/bmp":
		end = len(data)
	}
	if end < 0 {
		return nil, false
	}
	return data[:end], true
}

// endOfPNG walks the chunks, checks their sums and returns the place after IEND, or -1.
func endOfPNG(data []byte) int {
	const signature, frame = 8, 12 // a chunk is its length, its type, its data and its sum
	for at := signature; at+frame <= len(data); {
		length := int64(binary.BigEndian.Uint32(data[at:]))
		if length > int64(len(data)-at-frame) {
			return -1
		}
		next := at + frame + int(length)
		if crc32.ChecksumIEEE(data[at+4:next-4]) != binary.BigEndian.Uint32(data[next-4:]) {
			return -1
		}
		if string(data[at+4:at+8]) == "IEND" {
			return next
		}
		at = next
	}
	return -1
}

// endOfGIF walks the blocks and returns the place after the trailer, or -1.
func endOfGIF(data []byte) int {
	const header = 13
	if len(data) < header {
		return -1
	}
	at := header + colourTable(data[10])
	for at < len(data) {
		switch data[at] {
		case 0x3b: // trailer
			return at + 1
		case 0x21: // extension: a label, then data
			at = endOfGIFData(data, at+2)
		case 0x2c: // frame: 9 bytes, a colour table, the size of codes, then data
			if at+10 > len(data) {
				return -1
			}
			at = endOfGIFData(data, at+11+colourTable(data[at+9]))
		default:
			return -1
		}
		if at < 0 {
			return -1
		}
	}
	return -1
}

// colourTable returns the size of the colour table that flags announce.
func colourTable(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// endOfGIFData returns the place after a chain of data blocks, or -1.
func endOfGIFData(data []byte, at int) int {
	for at < len(data) {
		length := int(data[at])
		at += 1 + length
		if length == 0 {
			return at
		}
	}
	return -1
}

// animated says whether a GIF has more than one frame.
func animated(a Artifact) bool {
	return a.MIME == "image/gif" && bytes.Count(a.Data, []byte{0x21, 0xf9, 0x04}) > 1
}
