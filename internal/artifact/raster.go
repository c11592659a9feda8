package artifact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"sync"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// maxPixels is the largest picture that is decoded. It takes 160 MB, which is why there is [large].
const maxPixels = 40_000_000

// large is held while a picture of more than largePixels is in memory, so that calls at the same time
// do not add up.
var large sync.Mutex

const largePixels = 4_000_000

// A budget bounds the work of one Collect in pixels. Decoding takes about 8 ns for one, making a copy
// 20 to 50, measured on one core of a small server, so that both together stay near a second.
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
	case len(data) >= 26 && string(data[:2]) == "BM" && int64(binary.LittleEndian.Uint32(data[2:])) <= int64(len(data)):
		return "image/bmp"
	default:
		return ""
	}
}

// identifyRaster checks that an image is whole, and makes it a kind and a size that clients show. What
// is too large to decode is handed over by link, unopened; so are animations in WebP, which no decoder here reads.
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
	if deep(config.ColorModel) {
		pixels *= 2
	}
	if pixels > maxPixels || mime == "image/webp" && animated(data, mime) || !c.work.decode(int(pixels)) {
		a.Link = true
		return a, ""
	}
	if pixels > largePixels {
		large.Lock()
		defer large.Unlock()
	}
	picture, err := decode(data, mime)
	if err != nil {
		return Artifact{}, damaged
	}
	if width, height := c.withinSide(a); mime == "image/bmp" || width < a.Width || height < a.Height {
		a.Link = animated(data, mime) || !c.replace(&a, picture, width, height, math.MaxInt)
	}
	return a, ""
}

// deep says whether pixels take 8 bytes instead of 4.
func deep(model color.Model) bool {
	return model == color.RGBA64Model || model == color.NRGBA64Model
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
