package features

import (
	"os"
	"path/filepath"
	"testing"
)

// Variables of CPUs are found in what kernels without a start at 0 list, too; no other symbol is.
func TestListed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kallsyms")
	list := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list("ffffffff81000000 T _text\n0000000000001000 A __per_cpu_start\n" +
		"000000000001fb80 A __preempt_count\n" +
		"ffffffff81234560 t runqueues\nffffffffc0000000 d __count\t[module]\n")
	for name, want := range map[string]int{
		"__preempt_count": 0x1eb80, "runqueues": -1, "__count": -1, "none": -1,
	} {
		if at, ok := listed(file, name); ok != (want >= 0) || ok && at != want {
			t.Errorf("%s: got %#x, %v, want %#x", name, at, ok, want)
		}
	}
	list("0000000000000000 A __per_cpu_start\n0000000000000000 A __preempt_count\n")
	if at, ok := listed(file, "__preempt_count"); ok {
		t.Errorf("got %#x of a list without addresses, want none", at)
	}
	if at, ok := listed(file+"x", "__preempt_count"); ok {
		t.Errorf("got %#x of no list, want none", at)
	}
}
