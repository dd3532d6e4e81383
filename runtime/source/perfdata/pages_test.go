package perfdata

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/tests/testkit"
)

// TestCgroupAndPageSizes checks that cgroups and sizes of pages are fields of samples that have
// them, with the values that perf script prints.
func TestCgroupAndPageSizes(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Perf)
	path := filepath.Join(t.TempDir(), "x.data")
	out, err := exec.Command("perf", "record", "-q", "--all-cgroups", "--data-page-size",
		"--code-page-size", "-d",
		"-e", "page-faults", "-c", "1", "-o", path, "--", "sh", "-c", "/bin/true; /bin/true").
		CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	testkit.Requires(t, testkit.Optional("samples of page sizes", err))
	want := map[string]int{}
	for line := range strings.Lines(runPerf(t, "script", "-i", path, "-F", "data_page_size,code_page_size")) {
		if f := strings.Fields(line); len(f) == 2 {
			want[f[0]+" "+f[1]]++
		}
	}
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[string]int{}
	for _, ring := range all(t, f) {
		for i := range ring {
			e := &ring[i]
			if e.Kind != event.Sample {
				continue
			}
			number := func(name string) int64 {
				field, ok := e.Stream.Schema.Field(name)
				if !ok {
					t.Fatalf("no field %s", name)
				}
				n, ok := field.Int(e)
				if !ok {
					t.Fatalf("%s: not in the sample", name)
				}
				return n
			}
			got[pageSize(number("data_page_size"))+" "+pageSize(number("code_page_size"))]++
			if number("cgroup_id") < 1 {
				t.Errorf("cgroup: got %d, want the number of one", number("cgroup_id"))
			}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || len(got) == 0 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// pageSize is a size as perf prints it.
func pageSize(n int64) string {
	switch {
	case n == 0:
		return "N/A"
	case n%(1<<30) == 0:
		return fmt.Sprintf("%dG", n>>30)
	case n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	}
	return fmt.Sprintf("%dK", n>>10)
}
