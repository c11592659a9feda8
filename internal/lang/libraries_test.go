package lang_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/llm-sandbox-mcp/llm-sandbox-mcp/internal/lang"
)

// accepted and refused hold entries of the library list by language.
func accepted() map[string][]string {
	return map[string][]string{
		"python": {
			"numpy", "pandas==2.*", "requests[socks]==2.31.0", " numpy ", "scikit-learn", "zope.interface", "A",
			"django>=4.2,<5", "django >= 4.2, < 5", "a[b,c]", "a [ b , c ] ~= 1.0", "x===1.0", "x!=1.0.dev1+local",
			"typing_extensions", "flask==0.0.0", "torch==2.1.0+cpu", "x<=1!2.0", "py7zr",
		},
		"javascript": {
			"lodash", "lodash@4.17.21", "@types/node", "@types/node@^20.1.0", "react@latest", "left-pad@~1.0",
			"x@>=1.2.3", "JSONStream", "socket.io@*", "@scope/name@1.0.0-beta.1+build",
		},
		"java": {
			"com.google.code.gson:gson:2.10.1", "junit:junit", "org.apache.commons:commons-lang3:3.14.0", "a:b:1.0-SNAPSHOT",
		},
		"go": {
			"github.com/google/uuid", "github.com/google/uuid@v1.6.0", "golang.org/x/text@latest", "gopkg.in/yaml.v3",
			"example.com/Mixed/v2@v2.0.0-20240101120000-abcdefabcdef", "rsc.io/quote@none", "k8s.io/api@v0.1.0+incompatible",
		},
		"ruby": {
			"rails", "rails:7.1.0", "nokogiri:1.16.0", "rails -v 7.1.0", "rails --version 7.1", "rails@7.1.0", "rails:~>7.1", "x:>= 1.0", "net-http", "a_b",
		},
		"r":   {"ggplot2", "data.table", "R6", "S4Vectors", "org.Hs.eg.db"},
		"cpp": {"libeigen3-dev", "libboost-all-dev", "libstdc++6", "libfmt-dev", "zlib1g-dev", "libsigc++-2.0-dev"},
	}
}

func refused() map[string][]string {
	return map[string][]string{
		"python": {
			"numpy==", "numpy=1", "numpy 1.0", "[extra]", "a[", "a[]", "a[b", "a[b,]", "a==1,", "-a", "a-", "_a", "a==x",
			"numpy @ https://example.invalid/x.whl", "git+https://example.invalid/x/y.git", "a; python_version<'3'", "a==1.0.*x", "Ünicode",
		},
		"javascript": {
			"--registry=http://127.0.0.1:9", "left-pad; id", "@scope", "@/x", "@a/", "a/b", "a@", "a@1 2", "a@^", ".a", "_a", "file:../x",
			"git+ssh://x", "user/repo", "a@npm:b", "a@https://x", "@a/b/c", "a@1||2",
		},
		"java": {"gson", "a:", ":b", "a:b:c:d", "a:b:[1,2)", "a b:c", "a..b:c", "a:b:1;id", "com/x:y"},
		"go": {
			"fmt", "encoding/json", "github.com/a/../b", "github.com//b", "github.com/a@", "github.com/a@v1 -x", "github.com/a@v1@v2",
			"git@github.com:a/b", "github.com/a.", "github.com/a;id", "github.com/a/", "./x",
		},
		"ruby": {
			"json --source http://127.0.0.1:9", "-i/tmp/x", "rails:", "rails:x", "rails -v", "rails -v 7;id", "a b", "rails -v 7 --source x",
		},
		"r":   {"x", "1a", "a_b", "a-b", "a.", "ggplot2==3.4", "a', repos='http://x", "user/repo"},
		"cpp": {"G++", "libx-dev-", "libx-dev+", "a", "libx=1.0", "libx/testing", "libx:i386", "lib x", "^lib", "g++"},
		"": { // in every language
			"", "   ", "/etc", "./pkg", "../x", "~/x", "file:///etc/passwd", "http://example.invalid/x", "$(touch /tmp/x)", "`id`",
			"a|b", "a&&b", "a>b", "numpy; rm -rf /tmp/x", "--index-url=http://127.0.0.1:9/simple", "-r/etc/passwd", "a\x00b", "a\x1b[31m",
			"a\tb", "a'b", `a"b`, `a\b`, "a*b", "a{b}", "a$b", "a\u2028b", "a\u200bb", "a\u00a0b", strings.Repeat("a", 513), "a\nb", "%61",
		},
	}
}

func TestCheckLibraries(t *testing.T) {
	t.Parallel()
	for _, name := range lang.Builtin().Names() {
		l := lookup(t, name)
		for _, library := range accepted()[name] {
			if err := l.CheckLibraries([]string{library}); err != nil {
				t.Errorf("%s: %q: %v", name, library, err)
			}
		}
		good := accepted()[name][0]
		for _, library := range append(refused()[name], refused()[""]...) {
			// Debian's "+" and npm's tags make some of these valid elsewhere, never here.
			err := l.CheckLibraries([]string{good, library, good})
			var libraryError *lang.LibraryError
			if !errors.As(err, &libraryError) || libraryError.Name != library || libraryError.Language != name {
				t.Errorf("%s: %q: error %v does not name it", name, library, err)
				continue
			}
			if !strings.HasPrefix(err.Error(), "libraries: ") || strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 500 {
				t.Errorf("%s: %q: text %q", name, library, err)
			}
		}
		if err := l.CheckLibraries(nil); err != nil {
			t.Errorf("%s: no libraries: %v", name, err)
		}
		if err := l.CheckLibraries([]string{good, good}); err != nil {
			t.Errorf("%s: the same twice: %v", name, err)
		}
	}
}

func TestLibraryErrorText(t *testing.T) {
	t.Parallel()
	err := lookup(t, "python").CheckLibraries([]string{"numpy", "git+https://example.invalid/x/y.git"})
	const want = `libraries: "git+https://example.invalid/x/y.git" is not a valid python package: URLs are not accepted; give the name of a package in the registry`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Whatever is accepted is harmless as one word of a command line, even one that a shell splits.
func FuzzCheckLibraries(f *testing.F) {
	for _, lists := range []map[string][]string{accepted(), refused()} {
		for _, list := range lists {
			for _, library := range list {
				f.Add(library)
			}
		}
	}
	f.Fuzz(func(t *testing.T, library string) {
		for _, name := range lang.Builtin().Names() {
			if lookup(t, name).CheckLibraries([]string{library}) != nil {
				continue
			}
			trimmed := strings.TrimSpace(library)
			if trimmed == "" || len(trimmed) > 512 {
				t.Errorf("%s accepts %q of length %d", name, library, len(trimmed))
			}
			if strings.HasPrefix(trimmed, "-") || strings.ContainsAny(trimmed, "\"'`$;&|\\(){}#%?\n\r\t\x00") || strings.Contains(trimmed, "..") && name != "python" && name != "javascript" && name != "ruby" && name != "go" && name != "r" && name != "cpp" {
				t.Errorf("%s accepts %q", name, library)
			}
			for _, r := range trimmed {
				if r < ' ' || r > '~' {
					t.Errorf("%s accepts %q", name, library)
				}
			}
			if strings.Contains(trimmed, "/../") || strings.HasPrefix(trimmed, "../") || strings.Contains(trimmed, "://") {
				t.Errorf("%s accepts the path %q", name, library)
			}
			if name != "ruby" && strings.Contains(trimmed, " -") {
				t.Errorf("%s accepts the option in %q", name, library)
			}
		}
	})
}
