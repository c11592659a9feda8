package lang

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"sync"
)

// The descriptions. To add a language: a folder with language.json, describe.* and the examples that
// language.json names; its name below; its rules.
//
//go:embed data
var data embed.FS

// names are the languages in the order that clients see.
var names = []string{"python", "java", "javascript", "cpp", "go", "ruby", "r"}

// rules are the parts of a language that are not data.
type rules struct {
	// plan computes the files and steps for code that has been through normalize.
	plan func(*Language, Input) (Plan, error)
	// base is nil for a language that has nothing to build ahead.
	base func(*Language, Input) *Base
	// library checks one trimmed library name; its error says what is wrong with it.
	library func(name string) error
}

func rulesOf(name string) rules {
	switch name {
	case "python":
		return rules{plan: planPython, library: checkPyPI}
	case "java":
		return rules{plan: planJava, library: checkMaven}
	case "javascript":
		return rules{plan: planJavaScript, library: checkNPM}
	case "cpp":
		return rules{plan: planCPP, library: checkDebian}
	case "go":
		return rules{plan: planGo, base: baseGo, library: checkGoModule}
	case "ruby":
		return rules{plan: planRuby, library: checkGem}
	case "r":
		return rules{plan: planR, library: checkCRAN}
	}
	panic("lang: no rules for " + name)
}

// A Catalog is a set of languages. It does not change once made.
type Catalog struct {
	languages []*Language
	byName    map[string]*Language // names and aliases
}

var builtin = sync.OnceValue(func() *Catalog {
	c := &Catalog{byName: make(map[string]*Language)}
	for _, name := range names {
		l, err := load(name)
		if err != nil {
			// The descriptions are part of the binary and every one of them is tested.
			panic(fmt.Sprintf("lang: %s: %v", name, err))
		}
		c.languages = append(c.languages, l)
		c.byName[l.Name] = l
		for _, alias := range l.Aliases {
			c.byName[alias] = l
		}
	}
	return c
})

// Builtin returns the languages that are part of the program. They are parsed on the first call.
func Builtin() *Catalog { return builtin() }

// Names returns the canonical names in the order that clients see.
func (c *Catalog) Names() []string {
	all := make([]string, len(c.languages))
	for i, l := range c.languages {
		all[i] = l.Name
	}
	return all
}

// Lookup finds a language by its name or an alias, without regard to case and surrounding space. The
// error is an [*UnknownError].
func (c *Catalog) Lookup(name string) (*Language, error) {
	key := strings.ToLower(strings.TrimSpace(name))
	if l, ok := c.byName[key]; ok {
		return l, nil
	}
	return nil, &UnknownError{Name: name, Known: c.Names(), Nearest: c.nearest(key)}
}

// nearest returns the language whose name or alias is at most two edits away, if there is one.
func (c *Catalog) nearest(key string) string {
	if len(key) > 20 {
		return ""
	}
	best, distance := "", 3
	for _, l := range c.languages {
		for _, candidate := range append([]string{l.Name}, l.Aliases...) {
			// Half of a name being different says nothing.
			if d := editDistance(key, candidate); d < distance && 2*d < len(candidate) {
				best, distance = l.Name, d
			}
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// description is the shape of language.json.
type description struct {
	Name                  string            `json:"name"`
	Aliases               []string          `json:"aliases"`
	Image                 string            `json:"image"`
	Programs              [][]string        `json:"programs"`
	Package               map[string]string `json:"package"`
	Path                  []string          `json:"path"`
	Version               string            `json:"version"`
	PackageManager        string            `json:"package_manager"`
	PreinstalledLibraries []string          `json:"preinstalled_libraries"`
	UseCases              []string          `json:"use_cases"`
	VisualizationSupport  bool              `json:"visualization_support"`
	// Describe is the file with the program that [Language.Describe] returns.
	Describe string `json:"describe"`
	Examples []struct {
		Title       string `json:"title"`
		Description string `json:"description"`
		File        string `json:"file"`
	} `json:"examples"`
}

func load(name string) (*Language, error) {
	file := func(base string) (string, error) {
		b, err := data.ReadFile(path.Join("data", name, base))
		return string(b), err
	}
	text, err := file("language.json")
	if err != nil {
		return nil, err
	}
	var d description
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("parse language.json: %w", err)
	}
	l := &Language{
		Name:     d.Name,
		Aliases:  d.Aliases,
		Image:    d.Image,
		Programs: d.Programs,
		Package:  d.Package,
		Path:     d.Path,
		Details: Details{
			Version:               d.Version,
			PackageManager:        d.PackageManager,
			PreinstalledLibraries: append([]string{}, d.PreinstalledLibraries...),
			UseCases:              d.UseCases,
			VisualizationSupport:  d.VisualizationSupport,
		},
		rules: rulesOf(d.Name),
	}
	if l.describe, err = file(d.Describe); err != nil {
		return nil, err
	}
	for _, e := range d.Examples {
		code, err := file(e.File)
		if err != nil {
			return nil, err
		}
		l.Details.Examples = append(l.Details.Examples, Example{Title: e.Title, Description: e.Description, Code: code})
	}
	return l, nil
}
