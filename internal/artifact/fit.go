package artifact

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"slices"

	"golang.org/x/image/draw"
)

const (
	// minShare is the size in bytes below which no picture is pressed; others go behind a link rather
	// than make all unreadable.
	minShare = 20_000
	// maxInlineText is the largest document that is sent along; clients put it before the model.
	maxInlineText = 32 << 10
	// jpegQuality keeps axis labels legible.
	jpegQuality = 85
)

// fit makes images small enough to be sent along, each within an equal share of what is left, and puts
// the rest behind links.
func (c *collector) fit() {
	var images, documents []*Artifact
	for i := range c.set.Artifacts {
		switch a := &c.set.Artifacts[i]; {
		case a.Link:
		case a.Width > 0:
			images = append(images, a)
		default:
			documents = append(documents, a)
		}
	}
	slices.SortStableFunc(images, func(a, b *Artifact) int { return cmp.Compare(len(a.Data), len(b.Data)) })
	left := c.limits.Inline
	for i, a := range images {
		share := min(max(left/int64(len(images)-i), minShare), left)
		if int64(len(a.Data)) > share {
			c.shrink(a, int(share))
		}
		if int64(len(a.Data)) > share {
			a.Link = true
			continue
		}
		left -= int64(len(a.Data))
	}
	for _, a := range documents {
		if int64(len(a.Data)) > min(left, maxInlineText) {
			a.Link = true
			continue
		}
		left -= int64(len(a.Data))
	}
}

// withinSide returns the size of an image with its longest side cut to the limit.
func (c *collector) withinSide(a Artifact) (width, height int) {
	scale := min(1, float64(c.limits.Side)/float64(max(a.Width, a.Height)))
	return scaled(a.Width, scale), scaled(a.Height, scale)
}

// shrink replaces an image by a copy of at most size bytes. It leaves a as it is where that would take
// too much work, or lose an animation.
func (c *collector) shrink(a *Artifact, size int) {
	if animated(a.Data, a.MIME) || !c.work.decode(a.Width*a.Height) {
		return
	}
	if a.Width*a.Height > largePixels {
		large.Lock()
		defer large.Unlock()
	}
	if picture, err := decode(a.Data, a.MIME); err == nil {
		c.replace(a, picture, a.Width, a.Height, size)
	}
}

// replace makes a copy of an image, at most as wide and high as said and of at most size bytes, and
// says whether it could.
func (c *collector) replace(a *Artifact, picture image.Image, width, height, size int) bool {
	photo := isPhoto(*a)
	if expected := bytesPerPixel * float64(width*height); photo && expected > float64(size) {
		scale := math.Sqrt(float64(size) / expected)
		width, height = scaled(width, scale), scaled(height, scale)
	}
	const attempts = 5
	for range attempts {
		if !c.work.encode(width * height) {
			return false
		}
		data, mime := encode(resize(picture, width, height), photo)
		if data == nil {
			return false
		}
		if len(data) <= size {
			if a.Original == nil {
				a.Original, a.OriginalMIME = a.Data, a.MIME
			}
			a.Data, a.MIME, a.Width, a.Height = data, mime, width, height
			return true
		}
		if !photo && len(data) > 2*size {
			photo = true // JPEG of the same size first, then smaller
			continue
		}
		scale := min(0.9*math.Sqrt(float64(size)/float64(len(data))), 0.9)
		width, height = scaled(width, scale), scaled(height, scale)
	}
	return false
}

// bytesPerPixel is what a JPEG of noise takes at [jpegQuality]; plots and photos take less.
const bytesPerPixel = 0.75

// isPhoto says whether an image is better sent as JPEG: drawings take far less than a byte for a pixel
// as PNG.
func isPhoto(a Artifact) bool {
	return a.MIME == "image/jpeg" || a.MIME != "image/bmp" && len(a.Data) > a.Width*a.Height
}

// scaled returns n times scale, rounded and at least 1.
func scaled(n int, scale float64) int { return max(1, int(math.Round(float64(n)*scale))) }

// encode writes a picture as JPEG if it is a photo, else as PNG.
func encode(picture *image.RGBA, photo bool) (data []byte, mime string) {
	var out bytes.Buffer
	if !photo {
		if png.Encode(&out, picture) != nil {
			return nil, ""
		}
		return out.Bytes(), "image/png"
	}
	paper := image.NewRGBA(picture.Bounds())
	draw.Draw(paper, paper.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(paper, paper.Bounds(), picture, picture.Bounds().Min, draw.Over)
	if jpeg.Encode(&out, paper, &jpeg.Options{Quality: jpegQuality}) != nil {
		return nil, ""
	}
	return out.Bytes(), "image/jpeg"
}

// resize scales a picture down: by whole numbers first, where the mean of whole blocks keeps thin
// lines, and then by less than a half, where four neighbours are enough.
func resize(picture image.Image, width, height int) *image.RGBA {
	bounds := picture.Bounds()
	block := max(1, min(bounds.Dx()/width, bounds.Dy()/height))
	small := meanOfBlocks(picture, block)
	if small.Rect.Dx() == width && small.Rect.Dy() == height {
		return small
	}
	result := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.ApproxBiLinear.Scale(result, result.Rect, small, small.Rect, draw.Src, nil)
	return result
}

// meanOfBlocks makes one pixel of every block of n by n; what is left over at the edges is dropped. It
// holds n lines of the picture at a time.
func meanOfBlocks(picture image.Image, n int) *image.RGBA {
	bounds := picture.Bounds()
	result := image.NewRGBA(image.Rect(0, 0, bounds.Dx()/n, bounds.Dy()/n))
	lines := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), n))
	sums := make([]uint64, 4*result.Rect.Dx())
	area := uint64(n) * uint64(n) //nolint:gosec // n is the ratio of two sides of a picture
	for y := range result.Rect.Dy() {
		draw.Draw(lines, lines.Rect, picture, image.Pt(bounds.Min.X, bounds.Min.Y+y*n), draw.Src)
		out := result.Pix[y*result.Stride:][:4*result.Rect.Dx()]
		if n == 1 {
			copy(out, lines.Pix)
			continue
		}
		clear(sums)
		for line := range n {
			row := lines.Pix[line*lines.Stride:]
			for x := range result.Rect.Dx() {
				sum := sums[4*x : 4*x+4]
				for at := 4 * x * n; at < 4*(x+1)*n; at += 4 {
					sum[0] += uint64(row[at])
					sum[1] += uint64(row[at+1])
					sum[2] += uint64(row[at+2])
					sum[3] += uint64(row[at+3])
				}
			}
		}
		for i, sum := range sums {
			out[i] = uint8(sum / area) //nolint:gosec // the mean of bytes is a byte
		}
	}
	return result
}
