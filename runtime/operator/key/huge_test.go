package key

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"ppscript/tests/testkit"
)

// flagsOf returns the kernel's flags for the memory at p.
func flagsOf(t *testing.T, p unsafe.Pointer) string {
	f, err := os.Open("/proc/self/smaps")
	testkit.Requires(t, testkit.Core("what the kernel knows of mappings", err))
	defer f.Close()
	in := false
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		if from, rest, ok := strings.Cut(line, "-"); ok {
			if lo, err := strconv.ParseUint(from, 16, 64); err == nil {
				until, _, _ := strings.Cut(rest, " ")
				hi, _ := strconv.ParseUint(until, 16, 64)
				in = lo <= uint64(uintptr(p)) && uint64(uintptr(p)) < hi
			}
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && in {
			return flags + " "
		}
	}
	t.Fatalf("no mapping has %p", p)
	return ""
}

func TestLargeTablesAskForHugePages(t *testing.T) {
	_, err := os.Stat("/sys/kernel/mm/transparent_hugepage")
	testkit.Requires(t, testkit.Core("transparent huge pages", err))
	s := Huge(make([]intSlot, 1<<19))
	if flags := flagsOf(t, unsafe.Pointer(&s[len(s)/2])); !strings.Contains(flags, " hg ") {
		t.Errorf("got flags %q, want hg in them", flags)
	}
}

func TestGrowKeepsWhatThereIs(t *testing.T) {
	var s []int32
	for i := range int32(300000) {
		s = append(Grow(s), i)
	}
	for i, v := range s {
		if int(v) != i {
			t.Fatalf("got %d at %d", v, i)
		}
	}
	if Huge([]int32(nil)) != nil || len(Huge(make([]byte, 5))) != 5 {
		t.Error("a small slice did not stay as it was")
	}
}
