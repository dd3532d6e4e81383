package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ppscript/runtime/text/diag"
)

func TestParseCPUList(t *testing.T) {
	f := func(in string, want ...int) {
		t.Helper()
		got, err := ParseCPUList(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseCPUList(%q): got %v, %v, want %v", in, got, err, want)
		}
	}
	f("0", 0)
	f("0-3,8", 0, 1, 2, 3, 8)
	f("8,0-3\n", 0, 1, 2, 3, 8)
	f(" 1 , 2 ", 1, 2)
	f("0-2,1-3,2", 0, 1, 2, 3)
	f("5-5", 5)
	f("65535", 65535)
}

func TestParseCPUListErrors(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, err := ParseCPUList(in)
		var e *diag.Error
		if got != nil || !errors.As(err, &e) || e.Class != diag.Usage || e.Hint == "" ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("ParseCPUList(%q): got %v, %v, want a usage error with %q", in, got, err, want)
		}
	}
	f("", "no CPU named")
	f("  ", "no CPU named")
	f(",", `got ""`)
	f("0,", `got ""`)
	f("x", `got "x"`)
	f("-1", `got "-1"`)
	f("1-", `got "1-"`)
	f("+1", `got "+1"`)
	f("0 - 1", `got "0 - 1"`)
	f("1-2-3", `got "1-2-3"`)
	f("3-1", "backwards")
	f("0-4000000000", "from 0 to 65535")
	f("0x1", `got "0x1"`)
}

func TestFormatCPUList(t *testing.T) {
	f := func(want string, in ...int) {
		t.Helper()
		if got := FormatCPUList(in); got != want {
			t.Errorf("FormatCPUList(%v): got %q, want %q", in, got, want)
		}
	}
	f("")
	f("0", 0)
	f("0-1", 0, 1)
	f("0-3,8,10-11", 10, 8, 3, 2, 1, 0, 11, 8)
}

func TestCheckCPUs(t *testing.T) {
	c := CPUs{Online: []int{0, 1}, Present: []int{0, 1, 2}, Possible: []int{0, 1, 2, 3}}
	f := func(want string, cpus ...int) {
		t.Helper()
		err := c.Check(cpus)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Check(%v): got %v, want %q", cpus, err, want)
		}
	}
	f("")
	f("", 1)
	f("no such CPU 99; online: 0-1", 0, 99)
	f("CPU 2 is offline; online: 0-1", 0, 1, 2)
	if got := Intersect([]int{3, 1, 1}, []int{0, 1, 3}); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("Intersect: got %v", got)
	}
}

// write makes a fixture file below dir.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadCPUs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "devices/system/cpu/online", "0-1,3\n")
	write(t, dir, "devices/system/cpu/present", "0-3\n")
	if _, err := ReadCPUs(Roots{Sys: dir}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("possible missing: got %v, want not exist", err)
	}
	write(t, dir, "devices/system/cpu/possible", "0-7\n")
	c, err := ReadCPUs(Roots{Sys: dir})
	if err != nil || FormatCPUList(c.Online) != "0-1,3" || FormatCPUList(c.Present) != "0-3" ||
		len(c.Possible) != 8 {
		t.Errorf("got %+v, %v", c, err)
	}
}

// needsSysfs is testkit.Requires(t, testkit.Sysfs), which imports this package.
func needsSysfs(t *testing.T) {
	t.Helper()
	if !HasSysfs(Roots{}) {
		t.Skip("needs sysfs (mount -t sysfs sysfs /sys)")
	}
}

func TestOnlineCPUsHere(t *testing.T) {
	needsSysfs(t)
	cpus, err := OnlineCPUs()
	if err != nil || len(cpus) == 0 {
		t.Errorf("got %v, %v, want at least one CPU", cpus, err)
	}
}

func FuzzParseCPUList(f *testing.F) {
	for _, s := range []string{"0-3,8", "", "1-", "3-1", "0-65535,0-65535,0-65535", " 1 , 2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseCPUList(s)
		if (err == nil) != (len(cpus) > 0) {
			t.Fatalf("%q: got %v and %v", s, cpus, err)
		}
		if err != nil {
			return
		}
		again, err := ParseCPUList(FormatCPUList(cpus))
		if err != nil || !slices.Equal(cpus, again) {
			t.Fatalf("%q: %v does not survive formatting: %v, %v", s, cpus, again, err)
		}
	})
}

// A CPU that went and came back has another number, one that stayed the same.
func TestOnlineSince(t *testing.T) {
	r := Roots{Sys: t.TempDir()}
	write(t, r.Sys, "devices/system/cpu/online", "0-1\n")
	topology := func(cpu string) string { return filepath.Join(r.Sys, "devices/system/cpu", cpu, "topology") }
	for _, cpu := range []string{"cpu0", "cpu1"} {
		if err := os.MkdirAll(topology(cpu), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before, err := OnlineSince(r)
	if err != nil || len(before) != 2 {
		t.Fatalf("got %v, %v, want two CPUs", before, err)
	}
	// The new one is made before the old one goes, so that the number differs.
	if err := errors.Join(os.Rename(topology("cpu1"), topology("cpu1")+".old"),
		os.Mkdir(topology("cpu1"), 0o755)); err != nil {
		t.Fatal(err)
	}
	after, err := OnlineSince(r)
	if err != nil || after[0] != before[0] || after[1] == before[1] {
		t.Errorf("got %v, %v, want CPU 1 to differ from %v", after, err, before)
	}
	write(t, r.Sys, "devices/system/cpu/online", "0\n")
	if after, err = OnlineSince(r); err != nil || len(after) != 1 {
		t.Errorf("got %v, %v, want CPU 0", after, err)
	}
}

func TestEventsForAllCPUsOpenOnOneThatIsOnline(t *testing.T) {
	needsSysfs(t)
	online, err := OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	var tried []int
	gone := map[int]bool{0: true}
	_, err = OnACPU(func(cpu int) (int, error) {
		tried = append(tried, cpu)
		if gone[cpu] {
			return -1, syscall.ENODEV
		}
		return 3, nil
	})
	others := len(online) > 1 || online[0] != 0
	if last := tried[len(tried)-1]; others != (err == nil) || others && (last == 0 || len(tried) > 3) {
		t.Errorf("got CPUs %v and %v of %v, of which 0 is gone", tried, err, online)
	}
	_, err = OnACPU(func(int) (int, error) { return -1, syscall.EPERM })
	if err != syscall.EPERM {
		t.Errorf("got %v, want the refusal", err)
	}
}
