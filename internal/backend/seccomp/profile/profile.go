// Package profile gives typed access to the system call policy of the local sandboxes, profile.json.
package profile

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:embed profile.json
var source []byte

// A Profile says which system calls programs may make. It has the shape of an OCI seccomp profile. The
// rules of one call are read in order and the first that matches decides; a call without a matching
// rule gets the default action.
type Profile struct {
	DefaultAction Action `json:"defaultAction"`
	// DefaultErrno is what the default action returns to the program.
	DefaultErrno uint16 `json:"defaultErrnoRet"`
	// Architectures are libseccomp's names. The calls of any other architecture get the default action.
	Architectures []string `json:"architectures"`
	Rules         []Rule   `json:"syscalls"`
}

// A Rule gives an action to calls with one of some names, whose arguments meet all conditions.
type Rule struct {
	// Comment says why, for people.
	Comment string      `json:"comment"`
	Names   []string    `json:"names"`
	Action  Action      `json:"action"`
	Errno   uint16      `json:"errnoRet"`
	Args    []Condition `json:"args"`
	// Includes limits the rule to some architectures.
	Includes Includes `json:"includes"`
}

// Includes limits a rule to architectures, in Go's names; none means all.
type Includes struct {
	Arches []string `json:"arches"`
}

// Action is what happens to a call.
type Action string

// The actions that the profile uses. None kills: a library that tries a call and finds it missing must
// be able to go on.
const (
	Allow Action = "SCMP_ACT_ALLOW"
	Errno Action = "SCMP_ACT_ERRNO"
)

// A Condition is about one argument of a call, an unsigned 64-bit number. With [MaskedEqual] it holds
// if argument&Value == ValueTwo.
type Condition struct {
	Index    uint     `json:"index"`
	Value    uint64   `json:"value"`
	ValueTwo uint64   `json:"valueTwo"`
	Operator Operator `json:"op"`
}

// Operator is how a condition compares.
type Operator string

// MaskedEqual is the only operator that the profile uses. The kernel cuts most arguments to 32 bits, so
// a comparison of all 64 would let a forbidden value through with a stray upper bit.
const MaskedEqual Operator = "SCMP_CMP_MASKED_EQ"

// Default returns the policy that the compiled filters were made from. The caller must not change it.
func Default() *Profile { return parsed() }

var parsed = sync.OnceValue(func() *Profile {
	p, err := parse(source)
	if err != nil {
		panic(err) // the file is part of the binary, and a test reads it
	}
	return p
})

func parse(text []byte) (*Profile, error) {
	var p Profile
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("seccomp: read profile: %w", err)
	}
	return &p, nil
}

// For returns the rules for one architecture, in Go's name for it, in order.
func (p *Profile) For(goarch string) []Rule {
	var rules []Rule
	for _, rule := range p.Rules {
		if len(rule.Includes.Arches) == 0 || slices.Contains(rule.Includes.Arches, goarch) {
			rules = append(rules, rule)
		}
	}
	return rules
}
