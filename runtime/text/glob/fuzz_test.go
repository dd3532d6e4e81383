package glob

import (
	"strings"
	"testing"
)

// Patterns of stars alone have an answer that is known; the others end soon, whatever
// they are.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"*a*b", "[!a-z]?", "[", "[]a]", "[^]", "[a-", "***"} {
		f.Add(s, "xaxb")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		got := Match(pattern, s)
		if got != Match([]byte(pattern), []byte(s)) {
			t.Errorf("%q of %q: texts and bytes differ", pattern, s)
		}
		if strings.ContainsAny(pattern, "?[") {
			return
		}
		// Each text between stars in turn, as early as can be; the last one at the end.
		parts := strings.Split(pattern, "*")
		rest, want := strings.CutPrefix(s, parts[0])
		for i, part := range parts[1:] {
			if i == len(parts)-2 {
				want = want && strings.HasSuffix(rest, part)
				rest = ""
				break
			}
			before, after, found := strings.Cut(rest, part)
			want, rest = want && found && len(before) >= 0, after
		}
		if want = want && rest == ""; got != want {
			t.Errorf("%q of %q: got %v, want %v", pattern, s, got, want)
		}
	})
}
