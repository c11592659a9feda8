package lang_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestPrograms runs testdata/programs/LANGUAGE/*.txtar for real. The code is in the section "code", or
// as a JSON string in "quoted"; the section "want" has one expectation per line.
func TestPrograms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/programs/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, file := range files {
		language := filepath.Base(filepath.Dir(file))
		t.Run(language+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var code, want string
			for _, f := range archive.Files {
				switch f.Name {
				case "code":
					code = string(f.Data)
				case "quoted":
					if err := json.Unmarshal(f.Data, &code); err != nil {
						t.Fatal(err)
					}
				case "want":
					want = string(f.Data)
				default:
					t.Fatalf("section %q", f.Name)
				}
			}
			got := run(t, language, code)
			for line := range strings.Lines(want) {
				if err := got.check(strings.TrimSpace(line)); err != nil {
					t.Errorf("want %s: %v", strings.TrimSpace(line), err)
				}
			}
			if t.Failed() {
				t.Logf("%s\nexit code %d in step %s\nstdout:\n%s\nstderr:\n%s", archive.Comment, got.code, got.step, got.stdout, got.stderr)
			}
		})
	}
}

// check holds one line of a "want" section against the result. All but the exit codes take a JSON
// string.
func (r result) check(line string) error {
	word, value, _ := strings.Cut(line, " ")
	if word == "exit" || word == "exit-not" {
		code, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		if (r.code == code) != (word == "exit") {
			return fmt.Errorf("exit code %d", r.code)
		}
		return nil
	}
	var text string
	if err := json.Unmarshal([]byte(value), &text); err != nil {
		return err
	}
	name, how, _ := strings.Cut(word, "-")
	stream := r.stdout
	if name == "stderr" {
		stream = r.stderr
	}
	// Clients see text: what is not UTF-8 becomes U+FFFD.
	stream = strings.ToValidUTF8(stream, "\ufffd")
	var ok bool
	switch how {
	case "":
		ok = stream == text
	case "has":
		ok = strings.Contains(stream, text)
	case "lacks":
		ok = !strings.Contains(stream, text)
	case "match":
		re, err := regexp.Compile(text)
		if err != nil {
			return err
		}
		ok = re.MatchString(stream)
	default:
		return fmt.Errorf("unknown expectation %q", word)
	}
	if !ok {
		return fmt.Errorf("%s is %q", name, stream)
	}
	return nil
}
