package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp/mcptest"
)

// An expectation is what must hold of a result. Absent keys hold always.
type expectation struct {
	ExitCode    *int  `json:"exit_code"`
	ExitCodeIn  []int `json:"exit_code_in"`
	ExitCodeNot *int  `json:"exit_code_not"`

	StdoutEquals      *string  `json:"stdout_equals"`
	StdoutContains    []string `json:"stdout_contains"`
	StdoutNotContains []string `json:"stdout_not_contains"`
	StdoutRegex       string   `json:"stdout_regex"`
	StdoutLines       *int     `json:"stdout_lines"`
	StdoutMinChars    int      `json:"stdout_min_chars"`

	StderrEquals      *string  `json:"stderr_equals"`
	StderrContains    []string `json:"stderr_contains"`
	StderrNotContains []string `json:"stderr_not_contains"`
	StderrRegex       string   `json:"stderr_regex"`
	StderrLines       *int     `json:"stderr_lines"`

	IsError      *bool  `json:"is_error"`
	Failed       bool   `json:"failed"`
	MessageRegex string `json:"message_regex"`

	Images                *int     `json:"images"`
	ImagesMin             int      `json:"images_min"`
	ImagesMax             *int     `json:"images_max"`
	ImageMIME             []string `json:"image_mime"`
	ImageWidthsIncreasing bool     `json:"image_widths_increasing"`
	ResourcesMin          int      `json:"resources_min"`

	MinSeconds float64 `json:"min_seconds"`
	MaxSeconds float64 `json:"max_seconds"`

	TextContains  []string `json:"text_contains"`
	JSONKeys      []string `json:"json_keys"`
	JSONSetEquals []string `json:"json_set_equals"`

	// What the runner looks at after the call.
	Leftovers   *int `json:"leftovers"`
	ServerAlive bool `json:"server_alive"`
	Answers     bool `json:"answers"`
}

// check returns what does not hold.
func (e expectation) check(r mcptest.Result) []string {
	var wrong []string
	fail := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	if e.ExitCode != nil {
		fail(r.Ran && r.ExitCode == *e.ExitCode, "exit code %d, want %d", r.ExitCode, *e.ExitCode)
	}
	if e.ExitCodeIn != nil {
		fail(r.Ran && slices.Contains(e.ExitCodeIn, r.ExitCode), "exit code %d, want one of %d", r.ExitCode, e.ExitCodeIn)
	}
	if e.ExitCodeNot != nil {
		fail(!r.Ran || r.ExitCode != *e.ExitCodeNot, "exit code %d", r.ExitCode)
	}
	fail(!e.Failed || r.Failed(), "did not fail")
	if e.IsError != nil {
		fail(r.IsError == *e.IsError, "isError %v", r.IsError)
	}
	if e.MessageRegex != "" {
		fail(regexp.MustCompile(e.MessageRegex).MatchString(r.Message()), "no message like %s in %q", e.MessageRegex, r.Message())
	}
	if e.MinSeconds > 0 {
		fail(r.Took.Seconds() >= e.MinSeconds, "took only %v", r.Took)
	}
	if e.MaxSeconds > 0 {
		fail(r.Took.Seconds() <= e.MaxSeconds, "took %v, want at most %v s", r.Took, e.MaxSeconds)
	}
	wrong = append(wrong, e.checkStreams(r)...)
	wrong = append(wrong, e.checkImages(r)...)
	return append(wrong, e.checkText(r)...)
}

func (e expectation) checkStreams(r mcptest.Result) []string {
	var wrong []string
	for _, s := range []struct {
		name, got             string
		equals                *string
		contains, notContains []string
		regex                 string
		lines                 *int
	}{
		{"stdout", r.Stdout, e.StdoutEquals, e.StdoutContains, e.StdoutNotContains, e.StdoutRegex, e.StdoutLines},
		{"stderr", r.Stderr, e.StderrEquals, e.StderrContains, e.StderrNotContains, e.StderrRegex, e.StderrLines},
	} {
		if s.equals != nil && s.got != *s.equals {
			wrong = append(wrong, fmt.Sprintf("%s is %.400q, want %.400q", s.name, s.got, *s.equals))
		}
		for _, part := range s.contains {
			if !strings.Contains(s.got, part) {
				wrong = append(wrong, fmt.Sprintf("%s lacks %q: %.400q", s.name, part, s.got))
			}
		}
		for _, part := range s.notContains {
			if strings.Contains(s.got, part) {
				wrong = append(wrong, fmt.Sprintf("%s has %q: %.400q", s.name, part, s.got))
			}
		}
		if s.regex != "" && !regexp.MustCompile(s.regex).MatchString(s.got) {
			wrong = append(wrong, fmt.Sprintf("%s does not match %s: %.400q", s.name, s.regex, s.got))
		}
		if s.lines != nil && strings.Count(s.got, "\n") != *s.lines {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, want %d", s.name, strings.Count(s.got, "\n"), *s.lines))
		}
	}
	if n := len([]rune(r.Stdout)); n < e.StdoutMinChars {
		wrong = append(wrong, fmt.Sprintf("stdout has %d characters, want at least %d", n, e.StdoutMinChars))
	}
	return wrong
}

// checkImages also checks, in every case, that an image block holds what its type says.
func (e expectation) checkImages(r mcptest.Result) []string {
	var wrong []string
	n := len(r.Images)
	if e.Images != nil && n != *e.Images || n < e.ImagesMin || e.ImagesMax != nil && n > *e.ImagesMax {
		wrong = append(wrong, fmt.Sprintf("%d images", n))
	}
	last := 0
	for i, block := range r.Images {
		if e.ImageMIME != nil && !slices.Contains(e.ImageMIME, block.MIME) {
			wrong = append(wrong, fmt.Sprintf("image %d is of type %s, want %v", i, block.MIME, e.ImageMIME))
		}
		picture, format, err := image.DecodeConfig(bytes.NewReader(block.Data))
		if block.MIME != "image/webp" && (err != nil || "image/"+format != block.MIME) {
			wrong = append(wrong, fmt.Sprintf("image %d is called %s, and is %q: %v", i, block.MIME, format, err))
		}
		if e.ImageWidthsIncreasing && picture.Width <= last {
			wrong = append(wrong, fmt.Sprintf("image %d is %d wide after one of %d", i, picture.Width, last))
		}
		last = picture.Width
	}
	if r.Resources < e.ResourcesMin {
		wrong = append(wrong, fmt.Sprintf("%d resources, want at least %d", r.Resources, e.ResourcesMin))
	}
	return wrong
}

func (e expectation) checkText(r mcptest.Result) []string {
	var wrong []string
	text := r.Text
	if r.Refused != nil {
		text += r.Refused.Message
	}
	for _, part := range e.TextContains {
		if !strings.Contains(text, part) {
			wrong = append(wrong, fmt.Sprintf("the text lacks %q: %.400q", part, text))
		}
	}
	if e.JSONKeys != nil {
		var object map[string]any
		err := json.Unmarshal([]byte(text), &object)
		for _, key := range e.JSONKeys {
			if _, ok := object[key]; !ok {
				wrong = append(wrong, fmt.Sprintf("the text as JSON lacks %q: %v", key, err))
			}
		}
	}
	if e.JSONSetEquals != nil {
		var set []string
		err := json.Unmarshal([]byte(text), &set)
		slices.Sort(set)
		want := slices.Sorted(slices.Values(e.JSONSetEquals))
		if !slices.Equal(set, want) {
			wrong = append(wrong, fmt.Sprintf("the text as JSON is %q, want %q: %v", set, want, err))
		}
	}
	return wrong
}
