package artifact

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// identifyOne tells what a file is, from its bytes, or why it is not handed over. The ending only
// decides between kinds of text, which have no signature.
func (c *collector) identifyOne(f file) (a Artifact, reason string) {
	if mime := rasterType(f.data); mime != "" {
		return c.identifyRaster(f.data, mime)
	}
	mime := ""
	switch {
	case bytes.HasPrefix(f.data, []byte("%PDF-")):
		mime, reason = "application/pdf", checkPDF(f.data)
	case f.ext == ".svg":
		mime, reason = "image/svg+xml", checkSVG(f.data)
	case f.ext == ".html", f.ext == ".htm":
		mime, reason = "text/html", checkHTML(f.data)
	case f.ext == ".csv":
		mime, reason = "text/csv", checkText(f.data)
	case f.ext == ".tsv":
		mime, reason = "text/tab-separated-values", checkText(f.data)
	case f.ext == "":
		reason = "of no known kind"
	default:
		reason = "not a " + strings.ToUpper(f.ext[1:]) + " file"
	}
	return Artifact{MIME: mime, Data: f.data}, reason
}

// checkPDF looks for the mark at the end, which readers search in the last kilobyte.
func checkPDF(data []byte) (reason string) {
	if !bytes.Contains(data[max(0, len(data)-1024):], []byte("%%EOF")) {
		return "a PDF without its end"
	}
	return ""
}

// checkText accepts what any reader of text can show.
func checkText(data []byte) (reason string) {
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "not UTF-8 text"
	}
	return ""
}

// htmlTag finds the tags that pages and fragments of pages begin with.
var htmlTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<(!doctype html|html|head|body|title|meta|link|script|style|main|section|article|header|nav|` +
		`div|span|p|h[1-6]|table|ul|ol|dl|pre|img|svg|iframe|form|a|b|i|br|hr)[\s/>]`)
})

// checkHTML accepts text that begins with a tag or a comment and has a tag of HTML near its start.
func checkHTML(data []byte) (reason string) {
	if reason := checkText(data); reason != "" {
		return reason
	}
	start := bytes.TrimLeft(data[:min(len(data), 4096)], "\ufeff \t\r\n")
	if !bytes.HasPrefix(start, []byte("<")) || !htmlTag().Match(start) {
		return "not an HTML page"
	}
	return ""
}

// checkSVG parses the whole file: it must be one XML element named svg.
func checkSVG(data []byte) (reason string) {
	const wrong = "not an SVG image"
	if reason := checkText(data); reason != "" {
		return wrong
	}
	decoder := xml.NewDecoder(bytes.NewReader(data))
	decoder.CharsetReader = func(_ string, input io.Reader) (io.Reader, error) { return input, nil }
	depth, roots := 0, 0
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return wrong
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				if roots++; token.Name.Local != "svg" {
					return wrong
				}
			}
			depth++
		case xml.EndElement:
			depth--
		}
	}
	if roots != 1 || depth != 0 {
		return wrong
	}
	return ""
}
