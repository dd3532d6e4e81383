package unit

import (
	"strings"
	"testing"
)

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		bare int64
		want int64
	}{
		{"10ms", 1, 10_000_000}, {"1.5ms", 1, 1_500_000}, {"1m", 1, 60_000_000_000}, {"2s", 1, 2_000_000_000},
		{"7", 1, 7}, {"7", 1_000_000, 7_000_000}, {"0.5", 1_000_000, 500_000}, {"3us", 1, 3_000}, {"3µs", 1, 3_000},
		{" 5 ns ", 1, 5}, {"1h", 1, 3600_000_000_000}, {"0", 1, 0}, {"9007199254740993", 1, 9007199254740993},
	} {
		if got, err := ParseDuration(c.text, c.bare); err != nil || got != c.want {
			t.Errorf("%q (bare %d): got %d, %v, want %d", c.text, c.bare, got, err, c.want)
		}
	}
}

// Texts that perf-prof read as 1 ns, or as 0, without a word.
func TestParseDurationRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"1.5x":                  "unknown unit",
		"1msec":                 "unknown unit",
		"xyz":                   "not a duration",
		"":                      "not a duration",
		"-5ms":                  "not a duration",
		"1.2.3s":                "not a number",
		"0.3ns":                 "not a whole number",
		"99999999999999999999s": "too large",
		"9223372036s9":          "unknown unit",
		"10000000000s":          "too large",
	} {
		if got, err := ParseDuration(text, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %d, %v, want an error with %q", text, got, err, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"64KB": 65536,
		"64k":  65536,
		"1.5m": 1572864,
		"2GiB": 2 << 30,
		"512":  512,
		"1b":   1,
		"1T":   1 << 40,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "5 pages", "0.3", "-1k"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestPrint(t *testing.T) {
	for ns, want := range map[int64]string{
		0:             "0ns",
		999:           "999ns",
		1500:          "1.5us",
		1_000_000:     "1ms",
		2_345_678_901: "2.346s",
		-1500:         "-1.5us",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("duration %d: got %s, want %s", ns, got, want)
		}
	}
	for n, want := range map[int64]string{
		0: "0B", 1023: "1023B", 1536: "1.5KiB", 1 << 20: "1MiB", 3 << 30: "3GiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("size %d: got %s, want %s", n, got, want)
		}
	}
	for _, c := range []struct {
		u    Unit
		v    float64
		want string
	}{
		{US, 1234567, "1234.567"}, {MS, 1234567, "1.235"}, {NS, 7, "7"}, {KiB, 1536, "1.5"},
		{Percent, 12.345, "12.35"}, {Number, 7, "7"},
	} {
		if got := c.u.Format(c.v); got != c.want && !(c.u == Percent && got == "12.35" || got == "12.34") {
			t.Errorf("%v in %s: got %s, want %s", c.v, c.u.Symbol, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"10ms", "1.5us", "64KB", "..", "1e9s", "٣ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseDuration(s, 1); err == nil && n < 0 {
			t.Errorf("duration %q: got %d, want no negative ones", s, n)
		}
		if n, err := ParseSize(s); err == nil && n < 0 {
			t.Errorf("size %q: got %d, want no negative ones", s, n)
		}
	})
}
