package sources

import (
	"strings"
	"testing"
)

// FuzzSplitWords checks that words are all that is not a blank or a quote, in its order.
func FuzzSplitWords(f *testing.F) {
	for _, s := range []string{"a b", `-e 'a b' "c"`, `''`, `"`, "\t\n", `a'b'c`, "\xff 'x\xff'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := splitWords(text)
		if err != nil {
			if !strings.ContainsAny(text, `"'`) || words != nil {
				t.Errorf("%q: got %q and %v", text, words, err)
			}
			return
		}
		if !strings.ContainsAny(text, "\"' \t\n") && text != "" && len(words) != 1 {
			t.Errorf("%q: got %q", text, words)
		}
		for _, w := range words {
			if w == "" && !strings.ContainsAny(text, `"'`) {
				t.Errorf("%q: got an empty word", text)
			}
		}
	})
}
