package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The decoders below store into a field of a Config. Their errors begin with "must" or "is", to stand
// behind the name of a variable.

// text takes any value.
type text struct {
	into *string
	form string
}

func (d text) accepts() string { return d.form }

// Decode implements envconfig.Decoder.
func (d text) Decode(value string) error {
	*d.into = value
	return nil
}

// word takes a word in any case and stores it in lower case.
type word struct {
	into *string
	of   []string // empty for any word
}

func (d word) accepts() string {
	if len(d.of) == 0 {
		return "a name in any case"
	}
	return strings.Join(d.of, ", ")
}

// Decode implements envconfig.Decoder.
func (d word) Decode(value string) error {
	value = strings.ToLower(value)
	if len(d.of) > 0 && !slices.Contains(d.of, value) {
		return errors.New("must be one of: " + d.accepts())
	}
	*d.into = value
	return nil
}

// path takes an absolute path, since the working directory of a server is an accident.
type path struct{ into *string }

func (d path) accepts() string { return "an absolute path" }

// Decode implements envconfig.Decoder.
func (d path) Decode(value string) error {
	if !filepath.IsAbs(value) {
		return errors.New("must be an absolute path")
	}
	*d.into = filepath.Clean(value)
	return nil
}

// flag takes the words for true and false that the reference takes.
type flag struct{ into *bool }

func (d flag) accepts() string { return "true, false, 1, 0, yes, no, on, off" }

// Decode implements envconfig.Decoder.
func (d flag) Decode(value string) error {
	switch strings.ToLower(value) {
	case "true", "1", "yes", "on":
		*d.into = true
	case "false", "0", "no", "off":
		*d.into = false
	default:
		return errors.New("must be one of: " + d.accepts())
	}
	return nil
}

// level takes the name of a level of log/slog.
type level struct{ into *slog.Level }

func (d level) accepts() string { return "debug, info, warn, error" }

// Decode implements envconfig.Decoder.
func (d level) Decode(value string) error {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	l, ok := levels[strings.ToLower(value)]
	if !ok {
		return errors.New("must be one of: " + d.accepts())
	}
	*d.into = l
	return nil
}

// count takes a whole number.
type count[T int | int64] struct {
	into     *T
	min, max T
	zero     bool // 0 is allowed and means no limit
}

func (d count[T]) accepts() string {
	s := fmt.Sprintf("a whole number from %d to %d", d.min, d.max)
	if d.zero {
		s += ", or 0 for no limit"
	}
	return s
}

// Decode implements envconfig.Decoder.
func (d count[T]) Decode(value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if none := d.zero && n == 0; err != nil || !none && (n < int64(d.min) || n > int64(d.max)) {
		return errors.New("must be " + d.accepts())
	}
	*d.into = T(n)
	return nil
}

// size takes a number of bytes as Docker writes it: every unit is a power of 1024, and k, kb and kib
// are the same.
type size struct {
	into     *int64
	min, max int64 // max 0 stands for what fits
	zero     bool  // 0 is allowed
}

func (d size) accepts() string { return "a size" + d.bounds() }

func (d size) bounds() string {
	var s string
	if d.min > 0 {
		s += ", at least " + formatSize(d.min)
	}
	if d.max > 0 {
		s += ", at most " + formatSize(d.max)
	}
	if d.zero && d.min > 0 {
		s += ", or 0"
	}
	return s
}

// Decode implements envconfig.Decoder.
func (d size) Decode(value string) error {
	n, ok := parseSize(value)
	if none := d.zero && n == 0; !ok || !none && (n < d.min || d.max > 0 && n > d.max) {
		return errors.New("must be a size in bytes or with a unit (b, k, m, g, t), such as 512m, 1.5g or 64KiB" + d.bounds())
	}
	*d.into = n
	return nil
}

// units are the letters of sizes; each is 1024 times the one before it.
const units = "bkmgt"

func parseSize(value string) (int64, bool) {
	number := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := strings.ToLower(value[len(number):])
	if len(unit) > 1 {
		unit = strings.TrimSuffix(strings.TrimSuffix(unit, "b"), "i")
	}
	power := 0
	if len(number) < len(value) {
		power = strings.Index(units, unit)
	}
	f, err := decimal(strings.TrimRight(number, " "))
	if err != nil || len(unit) > 1 || unit == "" && len(number) < len(value) || power < 0 {
		return 0, false
	}
	f *= math.Pow(1024, float64(power))
	if f < 0 || f >= math.MaxInt64 || f > 0 && f < 1 {
		return 0, false
	}
	return int64(f), true
}

func formatSize(n int64) string {
	power := 0
	for n >= 1024 && n%1024 == 0 && power < len(units)-1 {
		n, power = n/1024, power+1
	}
	return strconv.FormatInt(n, 10) + units[power:power+1]
}

// decimal parses a number in the notation of people: no hexadecimal, no NaN, no infinity.
func decimal(value string) (float64, error) {
	if value == "" || strings.Trim(value, "0123456789.eE+-") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(value, 64)
}

// cpus takes a number of processors and stores thousandths. The words of its errors are those that
// clients of the reference know.
type cpus struct {
	into  *int64
	whole bool
}

func (d cpus) accepts() string {
	if d.whole {
		return "a whole number above 0"
	}
	return "a number above 0, such as 0.5 or 2"
}

// maxCPUs is more than any machine has and keeps thousandths within an int64.
const maxCPUs = 1e6

// Decode implements envconfig.Decoder.
func (d cpus) Decode(value string) error {
	f, err := decimal(value)
	switch {
	case err != nil:
		return errors.New("must be a positive number")
	case f <= 0:
		return errors.New("must be greater than 0")
	case f > maxCPUs:
		return fmt.Errorf("must be at most %g", float64(maxCPUs))
	case d.whole && f != math.Trunc(f):
		return errors.New("must be a whole number when mapped to cpu_period/cpu_quota")
	case f < 0.01:
		// The kernel takes no quota below one millisecond in a period of 100.
		return errors.New("is too small to translate into cpu_quota: must be at least 0.01")
	}
	*d.into = int64(math.Round(f * 1000))
	return nil
}

// duration takes a number of seconds, or a number with a unit.
type duration struct {
	into *time.Duration
	zero bool // 0 is allowed
}

// maxDuration keeps mistakes such as milliseconds without a unit from passing as seconds.
const maxDuration = 7 * 24 * time.Hour

func (d duration) accepts() string {
	if d.zero {
		return "seconds, or a duration such as 1500ms, 30s or 2m; 0 for none"
	}
	return "seconds, or a duration such as 1500ms, 30s or 2m, above 0"
}

// Decode implements envconfig.Decoder.
func (d duration) Decode(value string) error {
	parsed, err := time.ParseDuration(value)
	if seconds, e := decimal(value); e == nil {
		// One second more than the maximum stands for everything above it, which may not fit.
		parsed, err = time.Duration(min(seconds, maxDuration.Seconds()+1)*float64(time.Second)), nil
	}
	if none := d.zero && parsed == 0; err != nil || !none && parsed <= 0 {
		return errors.New("must be " + d.accepts())
	}
	if parsed > maxDuration {
		return errors.New("must be at most a week")
	}
	*d.into = parsed
	return nil
}

// list splits a value at commas and drops what is blank.
func list(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// capabilities takes names of capabilities, with or without CAP_, in any case.
type capabilities struct{ into *[]string }

func (d capabilities) accepts() string { return "a comma-separated list" }

// Decode implements envconfig.Decoder.
func (d capabilities) Decode(value string) error {
	items := list(value)
	for i, item := range items {
		items[i] = strings.TrimPrefix(strings.ToUpper(item), "CAP_")
	}
	*d.into = items
	return nil
}

// securityOpts takes options in either notation of Docker, name=value and name:value.
type securityOpts struct{ into *[]SecurityOpt }

func (d securityOpts) accepts() string { return "a comma-separated list" }

// Decode implements envconfig.Decoder.
func (d securityOpts) Decode(value string) error {
	var opts []SecurityOpt
	for _, item := range list(value) {
		opt := SecurityOpt{Name: item}
		if i := strings.IndexAny(item, "=:"); i >= 0 {
			opt = SecurityOpt{Name: strings.TrimSpace(item[:i]), Value: strings.TrimSpace(item[i+1:])}
		}
		opt.Name = strings.ToLower(opt.Name)
		opts = append(opts, opt)
	}
	*d.into = opts
	return nil
}

// image takes the name of a container image for a language.
type image struct {
	into     *map[string]string
	language string
}

func (d image) accepts() string { return "the name of an image" }

// Decode implements envconfig.Decoder. What names an image is for engines to say.
func (d image) Decode(value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("must be the name of an image, without spaces")
	}
	if *d.into == nil {
		*d.into = map[string]string{}
	}
	(*d.into)[d.language] = value
	return nil
}

// address takes a URL, or anything if schemes is empty: engines have forms of their own.
type address struct {
	into    *URL
	schemes []string
}

func (d address) accepts() string {
	if len(d.schemes) == 0 {
		return "a URL"
	}
	return "a URL that begins with " + strings.Join(d.schemes, ", ")
}

// Decode implements envconfig.Decoder.
func (d address) Decode(value string) error {
	if len(d.schemes) > 0 {
		u, err := url.Parse(value)
		if err != nil || !slices.Contains(d.schemes, u.Scheme) {
			return errors.New("must be " + d.accepts())
		}
	}
	*d.into = URL(value)
	return nil
}
