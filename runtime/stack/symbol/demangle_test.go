package symbol

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A name of a few hundred letters can stand for one of gigabytes, and one that is nested deeply for minutes
// of work: such names stay as they are, soon. Names of people do not.
func TestNamesThatGrowStay(t *testing.T) {
	for _, name := range []string{
		doubling(60), // C++: pair<int, int>, and each further pair of two of the one before
		rustDoubling(60),
		"_Z1fI" + strings.Repeat("P", 8000) + "iEvv",
		"_Z1fI" + strings.Repeat("P", 1<<20) + "iEvv",
		"_RINvC1a1f" + strings.Repeat("R", 1<<20) + "lE",
		"_ZN" + strings.Repeat("1a", 1<<20) + "17h0123456789abcdefE",
	} {
		begin := time.Now()
		got := Demangle(name)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%.40s: took %s", name, took)
		}
		if got != name && len(got) > 1<<longestPower {
			t.Errorf("%.40s: got %d bytes, want the name itself", name, len(got))
		}
	}
	for name, want := range map[string]string{
		doubling(3): "f<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >, " +
			"std::pair<std::pair<std::pair<int, int>, std::pair<int, int> >, " +
			"std::pair<std::pair<int, int>, std::pair<int, int> > > >",
		doubling(60):              doubling(60),
		rustDoubling(2):           "a::f::<(i8, i8), ((i8, i8), (i8, i8))>",
		rustDoubling(60):          rustDoubling(60),
		rustDoubling(60) + "@plt": rustDoubling(60) + "@plt",
	} {
		if got := Demangle(name); got != want {
			t.Errorf("%.60s: got %.200s, want %.200s", name, got, want)
		}
	}
}

// doubling is a C++ name of which each part has the one before twice.
func doubling(parts int) string {
	b := []byte("_Z1fISt4pairIiiE")
	for i := 1; i < parts; i++ {
		n := strings.ToUpper(strconv.FormatInt(int64(i), 36))
		b = fmt.Appendf(b, "S0_IS%s_S%s_E", n, n) // S0_ is std::pair
	}
	return string(append(b, "Evv"...))
}

// rustDoubling is the same in Rust's form.
func rustDoubling(parts int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base62 := func(n int) (s string) {
		if n == 0 {
			return "_"
		}
		for n--; n > 0 || s == ""; n /= 62 {
			s = string(digits[n%62]) + s
		}
		return s + "_"
	}
	at, text := len("INvC1a1f"), "INvC1a1fTaaE"
	for range parts - 1 {
		before := base62(at)
		at = len(text)
		text += "TB" + before + "B" + before + "E"
	}
	return "_R" + text + "E"
}
