// Package unit is the one place that reads and prints quantities: durations,
// sizes, frequencies, counts, percentages.
//
// Numbers inside the runtime are plain int64 in the base unit (ns, bytes, Hz);
// this package reads and prints them. It does not depend on events.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Unit is the unit in which a column or an option is shown.
type Unit struct {
	Symbol string  // "us"
	Base   string  // "ns": the unit of the numbers
	Scale  float64 // base units per unit: 1000
	Prec   int     // decimals that text output shows
}

// The units that results use. The zero Unit is a plain number.
var (
	Number  = Unit{}
	NS      = Unit{"ns", "ns", 1, 0}
	US      = Unit{"us", "ns", 1e3, 3}
	MS      = Unit{"ms", "ns", 1e6, 3}
	S       = Unit{"s", "ns", 1e9, 3}
	Bytes   = Unit{"B", "B", 1, 0}
	KiB     = Unit{"KiB", "B", 1 << 10, 1}
	MiB     = Unit{"MiB", "B", 1 << 20, 1}
	GiB     = Unit{"GiB", "B", 1 << 30, 1}
	Percent = Unit{"%", "%", 1, 2}
	Hz      = Unit{"Hz", "Hz", 1, 0}
)

// ByName finds a unit by its symbol.
func ByName(name string) (Unit, bool) {
	for _, u := range []Unit{NS, US, MS, S, Bytes, KiB, MiB, GiB, Percent, Hz} {
		if u.Symbol == name {
			return u, true
		}
	}
	return Unit{}, false
}

// Format prints v, given in the base unit, as a number in unit u without the
// symbol.
func (u Unit) Format(v float64) string {
	if u.Scale == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v/u.Scale, 'f', u.Prec, 64)
}

var durations = []struct {
	suffix string
	ns     float64
}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}}

// ParseDuration reads "10ms", "1.5us" or a bare number, whose unit is bareNS nanoseconds. If bareNS
// is 0, the only bare number allowed is 0. Unknown suffixes, negative numbers and fractions of a
// nanosecond are errors.
func ParseDuration(s string, bareNS int64) (int64, error) {
	num, suffix := split(s)
	if num == "" {
		return 0, fmt.Errorf("%q is not a duration; write for example 10ms, 1.5us or 2s", s)
	}
	scale := float64(bareNS)
	if suffix == "" && bareNS == 0 && strings.Trim(num, "0.") != "" {
		return 0, fmt.Errorf("%q has no unit; write %ss or %[2]sms", s, num)
	}
	if suffix != "" {
		scale = 0
		for _, d := range durations {
			if suffix == d.suffix {
				scale = d.ns
			}
		}
		if scale == 0 {
			return 0, fmt.Errorf("%q: unknown unit %q; want ns, us, ms, s, m or h", s, suffix)
		}
	}
	return scaled(s, num, scale)
}

var sizes = []struct {
	suffix string
	bytes  float64
}{{"b", 1}, {"k", 1 << 10}, {"kb", 1 << 10}, {"kib", 1 << 10}, {"m", 1 << 20},
	{"mb", 1 << 20}, {"mib", 1 << 20},
	{"g", 1 << 30}, {"gb", 1 << 30}, {"gib", 1 << 30}, {"t", 1 << 40}, {"tb", 1 << 40}, {"tib", 1 << 40}}

// ParseSize reads "64MB", "1.5g" or a bare number of bytes; the suffixes are
// powers of 1024, as everywhere in perf.
func ParseSize(s string) (int64, error) {
	num, suffix := split(s)
	if num == "" {
		return 0, fmt.Errorf("%q is not a size; write for example 64KB or 2MB", s)
	}
	scale := 1.0
	if suffix != "" {
		scale = 0
		for _, d := range sizes {
			if strings.EqualFold(suffix, d.suffix) {
				scale = d.bytes
			}
		}
		if scale == 0 {
			return 0, fmt.Errorf("%q: unknown unit %q; want B, KB, MB, GB or TB", s, suffix)
		}
	}
	return scaled(s, num, scale)
}

func split(s string) (num, suffix string) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func scaled(s, num string, scale float64) (int64, error) {
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		if scale >= 1 && float64(n) > math.MaxInt64/scale {
			return 0, fmt.Errorf("%q is too large", s)
		}
		return n * int64(scale), nil
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	f *= scale
	switch {
	case f > math.MaxInt64/2:
		return 0, fmt.Errorf("%q is too large", s)
	case math.Abs(f-math.Round(f)) > 1e-6*math.Max(1, f):
		return 0, fmt.Errorf("%q is not a whole number of the base unit", s)
	}
	return int64(math.Round(f)), nil
}

// Duration prints ns with the suffix that keeps it short: "1.5ms".
func Duration(ns int64) string {
	abs := math.Abs(float64(ns))
	switch {
	case abs < 1e3:
		return fmt.Sprintf("%dns", ns)
	case abs < 1e6:
		return trim(float64(ns)/1e3) + "us"
	case abs < 1e9:
		return trim(float64(ns)/1e6) + "ms"
	}
	return trim(float64(ns)/1e9) + "s"
}

// Size prints bytes with a binary suffix: "1.5MiB".
func Size(n int64) string {
	abs := math.Abs(float64(n))
	switch {
	case abs < 1<<10:
		return fmt.Sprintf("%dB", n)
	case abs < 1<<20:
		return trim(float64(n)/(1<<10)) + "KiB"
	case abs < 1<<30:
		return trim(float64(n)/(1<<20)) + "MiB"
	}
	return trim(float64(n)/(1<<30)) + "GiB"
}

func trim(f float64) string {
	s := strconv.FormatFloat(f, 'f', 3, 64)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
