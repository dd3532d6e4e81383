package scripts_test

import (
	"slices"
	"strings"
	"testing"

	"ppscript/scripts"
	"ppscript/stdlib"
)

func TestNames(t *testing.T) {
	names := scripts.Names()
	if len(names) < 25 || !slices.Contains(names, "execsnoop") || slices.Contains(names, "block") {
		t.Errorf("got %v", names)
	}
	for i, n := range names {
		if i > 0 && names[i-1] == n {
			t.Errorf("two scripts are called %s", n)
		}
		if _, taken := stdlib.Find(n); taken {
			t.Errorf("%s is a profiler's name, which comes first", n)
		}
		if s := scripts.Summary(n); len(s) < 20 || len(s) > 110 || strings.HasSuffix(s, ",") {
			t.Errorf("%s: the docstring begins with %q, want one line that says what it answers", n, s)
		}
	}
}
