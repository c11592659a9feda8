package mcp_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/backend"
	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/mcp"
)

type arguments struct {
	Code, Language, Stdin string
	Libraries             []string
	Timeout               time.Duration
	Notes                 []string
}

func decode(raw string) (arguments, error) {
	var a arguments
	var err error
	a.Code, a.Language, a.Stdin, a.Libraries, a.Timeout, a.Notes, err = mcp.DecodeExecute([]byte(raw), 10*time.Minute)
	return a, err
}

func TestArguments(t *testing.T) {
	t.Parallel()
	python := func(edit func(*arguments)) arguments {
		a := arguments{Code: "x", Language: "python"}
		if edit != nil {
			edit(&a)
		}
		return a
	}
	seconds := func(n int) arguments {
		return python(func(a *arguments) { a.Timeout = time.Duration(n) * time.Second })
	}
	numpy := python(func(a *arguments) { a.Libraries = []string{"numpy", "pandas"} })
	for raw, want := range map[string]arguments{
		`{"code":"x"}`: python(nil),
		`{"code":"x","language":null,"libraries":null,"timeout":null,"stdin":null}`: python(nil),
		`{"code":""}`:                                        python(func(a *arguments) { a.Code = "" }),
		`{"code":"x","language":"C++"}`:                      python(func(a *arguments) { a.Language = "C++" }),
		`{"code":"x","stdin":"a\nb"}`:                        python(func(a *arguments) { a.Stdin = "a\nb" }),
		`{"code":"x","timeout":5}`:                           seconds(5),
		`{"code":"x","timeout":5.0}`:                         seconds(5),
		`{"code":"x","timeout":0.5e1}`:                       seconds(5),
		`{"code":"x","timeout":"5"}`:                         seconds(5),
		`{"code":"x","timeout":" 5.0 "}`:                     seconds(5),
		`{"code":"x","timeout":600}`:                         seconds(600),
		`{"code":"x","libraries":["numpy","pandas"]}`:        numpy,
		`{"code":"x","libraries":"[\"numpy\", \"pandas\"]"}`: numpy,
		`{"code":"x","libraries":[]}`:                        python(func(a *arguments) { a.Libraries = []string{} }),
		`"{\"code\":\"x\",\"timeout\":\"7\"}"`:               seconds(7),
		`{"code":"{\"a\": 1}"}`:                              python(func(a *arguments) { a.Code = `{"a": 1}` }),
		`{"code":"x","timeout":601}`: python(func(a *arguments) {
			a.Timeout = 10 * time.Minute
			a.Notes = []string{"timeout 601 s is above the maximum: 600 s was used (SANDBOX_MAX_TIMEOUT sets it)."}
		}),
		`{"code":"x","timeout":1e300}`: python(func(a *arguments) {
			a.Timeout = 10 * time.Minute
			a.Notes = []string{"timeout 1e300 s is above the maximum: 600 s was used (SANDBOX_MAX_TIMEOUT sets it)."}
		}),
		`{"code":"x","tiemout":5,"Language":"go"}`: python(func(a *arguments) {
			a.Notes = []string{"Ignored arguments that execute_code does not have: Language, tiemout."}
		}),
		`{"code":"x","a":1,"b":1,"c":1,"d\u0000":1,"e":1,"f":1,"g":1}`: python(func(a *arguments) {
			a.Notes = []string{"Ignored arguments that execute_code does not have: a, b, c, d , e, and 2 more."}
		}),
	} {
		got, err := decode(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	const number = "timeout: must be a whole number of seconds such as 30, not "
	const array = `libraries: must be an array of strings such as ["numpy"], not `
	const object = `arguments: must be an object such as {"code": "print(1)"}, not `
	for raw, want := range map[string]string{
		``:                                    "code: missing; give the program as a string",
		`null`:                                "code: missing; give the program as a string",
		`{}`:                                  "code: missing; give the program as a string",
		`{"language":"python"}`:               "code: missing; give the program as a string",
		`{"code":123}`:                        "code: must be a string, not 123",
		`{"code":null}`:                       "code: must be a string, not null",
		`{"code":["a",  "b"]}`:                `code: must be a string, not ["a","b"]`,
		`{"code":"x","language":5}`:           "language: must be a string, not 5",
		`{"code":"x","stdin":{}}`:             "stdin: must be a string, not {}",
		`{"code":"x","timeout":0}`:            "timeout: must be at least 1 second, not 0",
		`{"code":"x","timeout":-5}`:           "timeout: must be at least 1 second, not -5",
		`{"code":"x","timeout":"-5"}`:         `timeout: must be at least 1 second, not "-5"`,
		`{"code":"x","timeout":2.5}`:          number + "2.5",
		`{"code":"x","timeout":"abc"}`:        number + `"abc"`,
		`{"code":"x","timeout":""}`:           number + `""`,
		`{"code":"x","timeout":"NaN"}`:        number + `"NaN"`,
		`{"code":"x","timeout":"inf"}`:        number + `"inf"`,
		`{"code":"x","timeout":"0x10"}`:       number + `"0x10"`,
		`{"code":"x","timeout":true}`:         number + "true",
		`{"code":"x","timeout":[5]}`:          number + "[5]",
		`{"code":"x","libraries":"numpy"}`:    array + `"numpy"`,
		`{"code":"x","libraries":["a",null]}`: array + `["a",null]`,
		`{"code":"x","libraries":{"a":"b"}}`:  array + `{"a":"b"}`,
		`[1]`:                                 object + "[1]",
		`"print(1)"`:                          object + `"print(1)"`,
		`{"code":"x","language":[` + strings.Repeat("1,", 99) + `1]}`: "language: must be a string, not [" + strings.Repeat("1,", 29) + "1…",
	} {
		_, err := decode(raw)
		if err == nil || !errors.Is(err, backend.ErrInvalid) || err.Error() != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// FuzzArguments pins that arguments are understood or refused with one readable line, and that a
// timeout is never without bound.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"code":"x","language":"go","libraries":["a"],"timeout":5,"stdin":"y"}`, `"{}"`, `{"code":"x","timeout":"1e999"}`,
		`{"code":"x","libraries":"[]"}`, `null`, `[`, "\"\xff\"", `{"code":"\ud800"}`, `{"code":"x","timeout":0.1e1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := decode(string(raw))
		if err != nil {
			if !errors.Is(err, backend.ErrInvalid) || strings.ContainsFunc(err.Error(), unicode.IsControl) && json.Valid(raw) {
				t.Errorf("%q: %q", raw, err)
			}
			return
		}
		if a.Timeout < 0 || a.Timeout > 10*time.Minute || a.Timeout%time.Second != 0 {
			t.Errorf("%q: timeout %v", raw, a.Timeout)
		}
	})
}
