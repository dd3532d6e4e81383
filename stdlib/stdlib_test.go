package stdlib

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// The list of profilers shows one line of each, so there has to be one.
func TestSummaries(t *testing.T) {
	names := Names()
	if len(names) == 0 || !slices.IsSorted(names) {
		t.Fatalf("got %v, want a sorted list", names)
	}
	for _, n := range names {
		if s := Summary(n); len(s) < 20 || len(s) > 110 || strings.HasSuffix(s, ",") {
			t.Errorf("%s: the docstring begins with %q, want one line that says what it answers", n, s)
		}
	}
}

func TestFind(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		got, ok := Find(name)
		if ok != (want != "") || ok && got != want {
			t.Errorf("Find(%q): got %q, %v, want %q", name, got, ok, want)
		}
	}
	f("kvm-exit", "kvm_exit.star")
	f("kvm_exit", "kvm_exit.star")
	f("kvm", "")
	f("", "")
	f("lib/latency", "")
	f("../stdlib/kvm_exit", "")
	if _, err := fs.Stat(FS(), "lib/latency.star"); err != nil {
		t.Error(err)
	}
}
