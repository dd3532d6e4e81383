package permit

import (
	"strings"
	"testing"
)

// What is permitted is what stands there, and nothing that is empty: it would permit all.
func FuzzReadAllow(f *testing.F) {
	for _, s := range []string{"write=/tmp,net=1:2", "write=", "net", ",", "write==", "WRITE=/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files, peers, err := ReadAllow([]string{text})
		if err != nil && files == nil && peers == nil {
			return
		}
		for _, p := range append(files, peers...) {
			if p == "" || !strings.Contains(text, "="+p) {
				t.Errorf("%q permits %q", text, p)
			}
		}
		if err != nil || len(files)+len(peers) != strings.Count(text, ",")+1 {
			t.Errorf("%q: got %q, %q and %v", text, files, peers, err)
		}
	})
}
