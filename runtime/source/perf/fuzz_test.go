package perf

import "testing"

// The kernel's message about a refused filter repeats the user's text.
func FuzzFilterError(f *testing.F) {
	f.Add("nam == 3\n^\nparse_error: Field not found\n")
	f.Add("((pid == 3\n          ^\nparse_error: Unbalanced parens\n")
	f.Add("\n^parse_error:")
	f.Fuzz(func(t *testing.T, text string) {
		if why := parseFilterError(text, []string{"pid", "name"}); len(why) > 2*len(text)+200 {
			t.Errorf("%q: got %d bytes", text, len(why))
		}
	})
}
