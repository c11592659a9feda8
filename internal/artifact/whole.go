package artifact

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

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
		end, _ = endOfGIF(data)
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

// endOfGIF walks the blocks and returns the place after the trailer, or -1, and the number of frames.
func endOfGIF(data []byte) (end, frames int) {
	const header = 13
	if len(data) < header {
		return -1, 0
	}
	at := header + colourTable(data[10])
	for at >= 0 && at < len(data) {
		switch data[at] {
		case 0x3b: // trailer
			return at + 1, frames
		case 0x21: // extension: a label, then data
			at = endOfGIFData(data, at+2)
		case 0x2c: // frame: 9 bytes, a colour table, the size of codes, then data
			if at+10 > len(data) {
				return -1, frames
			}
			frames++
			at = endOfGIFData(data, at+11+colourTable(data[at+9]))
		default:
			return -1, frames
		}
	}
	return -1, frames
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

// animated says whether an image, which is whole, has more than one frame.
func animated(data []byte, mime string) bool {
	switch mime {
	case "image/gif":
		_, frames := endOfGIF(data)
		return frames > 1
	case "image/webp":
		const flags, animation = 20, 0x02
		return len(data) > flags && string(data[12:16]) == "VP8X" && data[flags]&animation != 0
	default:
		return false
	}
}
