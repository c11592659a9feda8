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
			c.fitSide(a)
			images = append(images, a)
		default:
			documents = append(documents, a)
		}
	}
	slices.SortStableFunc(images, func(a, b *Artifact) int { return cmp.Compare(len(a.Data), len(b.Data)) })
	left := c.limits.Inline
	for i, a := range images {
		if a.Link {
			continue
		}
		share := min(max(left/int64(len(images)-i), minShare), left)
		if int64(len(a.Data)) > share {
			c.shrink(a, a.Width, a.Height, int(share))
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

// fitSide shrinks an image whose longest side is too long.
func (c *collector) fitSide(a *Artifact) {
	longest := max(a.Width, a.Height)
	if longest <= c.limits.Side {
		return
	}
	scale := float64(c.limits.Side) / float64(longest)
	c.shrink(a, scaled(a.Width, scale), scaled(a.Height, scale), math.MaxInt)
	a.Link = max(a.Width, a.Height) > c.limits.Side
}

// shrink replaces the data by a copy of at most the given size in pixels and in bytes. It leaves a as
// it is where that would take too much work, or lose an animation.
func (c *collector) shrink(a *Artifact, width, height, size int) {
	if animated(*a) || !c.work.decode(a.Width*a.Height) {
		return
	}
	picture, err := decode(a.Data, a.MIME)
	if err != nil {
		return
	}
	photo := isPhoto(*a)
	if expected := bytesPerPixel * float64(width*height); photo && expected > float64(size) {
		scale := math.Sqrt(float64(size) / expected)
		width, height = scaled(width, scale), scaled(height, scale)
	}
	const attempts = 5
	for range attempts {
		if !c.work.encode(width * height) {
			return
		}
		small := resize(picture, width, height)
		data, mime := encode(small, photo)
		if data == nil {
			return
		}
		if len(data) <= size {
			if a.Original == nil {
				a.Original, a.OriginalMIME = a.Data, a.MIME
			}
			a.Data, a.MIME, a.Width, a.Height = data, mime, width, height
			return
		}
		if !photo && len(data) > 2*size {
			photo = true // JPEG of the same size first, then smaller
			continue
		}
		scale := min(0.9*math.Sqrt(float64(size)/float64(len(data))), 0.9)
		width, height = scaled(width, scale), scaled(height, scale)
	}
}

// bytesPerPixel is what a JPEG of noise takes at [jpegQuality]; plots and photos take less.
const bytesPerPixel = 0.75

// isPhoto says whether an image is better sent as JPEG: drawings take far less than a byte for a pixel
// as PNG.
func isPhoto(a Artifact) bool {
	return a.MIME == "image/jpeg" || len(a.Data) > a.Width*a.Height
}

func scaled(n int, scale float64) int { return max(1, int(float64(n)*scale)) }

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
// lines, and then smoothly.
func resize(picture image.Image, width, height int) *image.RGBA {
	bounds := picture.Bounds()
	source, ok := picture.(*image.RGBA)
	if !ok || bounds.Min != (image.Point{}) {
		source = image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
		draw.Draw(source, source.Bounds(), picture, bounds.Min, draw.Src)
	}
	if block := min(source.Rect.Dx()/width, source.Rect.Dy()/height); block > 1 {
		source = meanOfBlocks(source, block)
	}
	if source.Rect.Dx() == width && source.Rect.Dy() == height {
		return source
	}
	result := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.CatmullRom.Scale(result, result.Bounds(), source, source.Bounds(), draw.Src, nil)
	return result
}

// meanOfBlocks makes one pixel of every block of n by n; what is left over at the edges is dropped.
func meanOfBlocks(source *image.RGBA, n int) *image.RGBA {
	result := image.NewRGBA(image.Rect(0, 0, source.Rect.Dx()/n, source.Rect.Dy()/n))
	sums := make([]uint32, 4*result.Rect.Dx())
	area := uint32(n * n)
	for y := range result.Rect.Dy() {
		clear(sums)
		for line := range n {
			row := source.Pix[(y*n+line)*source.Stride:]
			for x := range result.Rect.Dx() {
				sum := sums[4*x : 4*x+4]
				for at := 4 * x * n; at < 4*(x+1)*n; at += 4 {
					sum[0] += uint32(row[at])
					sum[1] += uint32(row[at+1])
					sum[2] += uint32(row[at+2])
					sum[3] += uint32(row[at+3])
				}
			}
		}
		out := result.Pix[y*result.Stride:]
		for i, sum := range sums {
			out[i] = uint8(sum / area) //nolint:gosec // the mean of bytes is a byte
		}
	}
	return result
}
