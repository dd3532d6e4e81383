package probe

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"

	"ppscript/tests/testkit"
)

func TestUprobeArguments(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	bin := buildTarget(t)
	p := start(t, exec.Command(bin, "10"))
	probes := resolve(t, Spec{Kind: Uprobe, File: bin, Name: "work", Args: "int a, const char *s, long b"})
	i := 0
	hits := record(t, probes, perf.Target{PIDs: []int{p.cmd.Process.Pid}}, func() {
		p.work(t)
	}, func(_ int, e *event.Event) {
		want := []string{"even", "odd"}[i%2]
		if a, b, s := num(t, e, "a"), num(t, e, "b"), text(t, e, "s"); a != int64(i-3) || b != 1<<33 ||
			s != want {
			t.Errorf("hit %d: got a %d, b %#x, s %q, want %d, 1<<33, %q", i, a, b, s, i-3, want)
		}
		if raw := num(t, e, "arg1"); int32(raw) != int32(i-3) {
			t.Errorf("hit %d: got arg1 %#x, want %d in its low half", i, raw, i-3)
		}
		if text(t, e, "func") != "work" {
			t.Errorf("got func %q, want work", text(t, e, "func"))
		}
		i++
	})
	if hits[0] != 10 {
		t.Errorf("got %d hits, want 10", hits[0])
	}
}

func TestUretprobe(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	bin := buildTarget(t)
	p := start(t, exec.Command(bin, "6"))
	i := 0
	hits := record(t, resolve(t, Spec{Kind: Uretprobe, File: bin, Name: "work", Ret: "long"}),
		perf.Target{PIDs: []int{p.cmd.Process.Pid}}, func() { p.work(t) }, func(_ int, e *event.Event) {
			want := int64(1)<<34 + int64(4-i%2)
			if got := num(t, e, "result"); got != want || num(t, e, "retval") != want {
				t.Errorf("return %d: got %#x, want %#x", i, got, want)
			}
			if ip, ret := num(t, e, "ip"), num(t, e, "ret_ip"); ip == 0 || ret == 0 || ip == ret {
				t.Errorf("got ip %#x, ret_ip %#x, want the function and its caller", ip, ret)
			}
			i++
		})
	if hits[0] != 6 {
		t.Errorf("got %d hits, want 6", hits[0])
	}
}

// The same function by address, by file offset and inside another root.
func TestUprobePlaces(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	bin := buildTarget(t, "-static")
	jail := t.TempDir()
	data, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(jail, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(jail, "bin/inside"), data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/inside", filepath.Join(jail, "link")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/inside", "5")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: jail}
	cmd.Path = "/bin/inside"
	p := start(t, cmd)
	pid := cmd.Process.Pid

	r := resolver(t)
	m, _, _, err := r.open(&Spec{File: bin})
	if err != nil {
		t.Fatal(err)
	}
	addr := m.find("work")[0].addr
	off, err := m.codeOffset(addr)
	if err != nil {
		t.Fatal(err)
	}
	var probes []*Probe
	for _, s := range []Spec{
		{Kind: Uprobe, File: "/bin/inside", PID: pid, Name: "work"},
		{Kind: Uprobe, File: "/link", PID: pid, Name: fmt.Sprintf("0x%x", addr)},
		{Kind: Uprobe, PID: pid, Name: fmt.Sprintf("+0x%x", off)},
		{Kind: Uprobe, PID: pid, Name: "wor[a-k]"},
	} {
		ps, err := r.Resolve(s)
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		probes = append(probes, ps...)
	}
	hits := record(t, probes, perf.Target{PIDs: []int{pid}}, func() { p.work(t) }, nil)
	for i, n := range hits {
		if n != 5 {
			t.Errorf("probe %d: got %d hits, want 5", i, n)
		}
	}
}

func TestUSDTOperands(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	bin := buildTarget(t)
	p := start(t, exec.Command(bin, "9"))
	probes := resolve(t, Spec{Kind: USDT, File: bin, Name: "demo:args", Args: "int small, char *text"})
	i := int64(0)
	hits := record(t, probes, perf.Target{PIDs: []int{p.cmd.Process.Pid}}, func() {
		p.work(t)
	}, func(_ int, e *event.Event) {
		for name, want := range map[string]int64{
			"small": -3 - i, "arg1": -3 - i, "arg3": 42, "arg4": -3 - i, "arg5": 5000 + i, "arg7": 7,
		} {
			if name == "arg7" && hostMachine() != elf.EM_X86_64 {
				continue
			}
			if got := num(t, e, name); got != want {
				t.Errorf("hit %d: %s: got %d, want %d", i, name, got, want)
			}
		}
		if got := text(t, e, "text"); got != "text of a probe" {
			t.Errorf("hit %d: got %q", i, got)
		}
		i++
	})
	if hits[0] != 9 {
		t.Errorf("got %d hits, want 9", hits[0])
	}
}

// A probe with a semaphore fires only while it is watched.
func TestUSDTSemaphore(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	bin := buildTarget(t)
	p := start(t, exec.Command(bin, "8"))
	probes := resolve(t, Spec{Kind: USDT, File: bin, Name: "gate"})
	if probes[0].Schema.ID>>32 == 0 {
		t.Fatal("got no semaphore in attr.config")
	}
	i := int64(0)
	hits := record(t, probes, perf.Target{PIDs: []int{p.cmd.Process.Pid}}, func() {
		p.work(t)
	}, func(_ int, e *event.Event) {
		if got := num(t, e, "arg1"); got != -3-i {
			t.Errorf("hit %d: got %d, want %d", i, got, -3-i)
		}
		i++
	})
	if hits[0] != 8 {
		t.Errorf("got %d hits, want 8", hits[0])
	}
}

func TestBreakpointWrites(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Breakpoints, testkit.Sysfs)
	bin := buildTarget(t)
	p := start(t, exec.Command(bin, "12"))
	pid := p.cmd.Process.Pid
	probes := resolve(t, Spec{Kind: Breakpoint, Name: "total", PID: pid, Len: 8, Access: "w"})
	if got := fmt.Sprintf("0x%x", probes[0].Config1); got != p.addr {
		t.Fatalf("address of total: got %s, want %s", got, p.addr)
	}
	probes = append(probes, resolve(t, Spec{Kind: Breakpoint, Name: "work", PID: pid, Access: "x"})...)
	i := int64(0)
	hits := record(t, probes, perf.Target{TIDs: []int{pid}}, func() {
		p.work(t)
	}, func(at int, e *event.Event) {
		if at == 1 {
			return
		}
		if hostMachine() == elf.EM_X86_64 { // elsewhere it is the last value of memory
			if got := num(t, e, "data"); got != 1000+i-3 {
				t.Errorf("write %d: got data %d, want %d", i, got, 1000+i-3)
			}
		}
		if regs := text(t, e, "regs"); strings.Count(regs, "\n") < 5 {
			t.Errorf("got %q, want a block of registers", regs)
		}
		i++
	})
	if hits[0] != 12 || hits[1] != 12 {
		t.Errorf("got %v hits, want 12 writes and 12 executions", hits)
	}
}

// 100 throws are 100 hits, and as many catches.
func TestLibstdcxx(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	testkit.Requires(t, testkit.GXX)
	bin := filepath.Join(t.TempDir(), "throws")
	cmd := exec.Command("g++", "-x", "c++", "-o", bin, "-")
	cmd.Stdin = strings.NewReader(`#include <cstdio>
int main() { std::puts("ready 0"); std::fflush(stdout); std::getchar();
 for (int i = 0; i < 100; i++) try { throw i; } catch (int) {}
 std::puts("done"); std::fflush(stdout); while (std::getchar() != EOF); }`)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, text)
	}
	p := start(t, exec.Command(bin))
	pid := p.cmd.Process.Pid
	probes := resolve(t, Spec{Kind: USDT, PID: pid, File: "libstdc++", Name: "libstdcxx:*throw"})
	probes = append(probes, resolve(t, Spec{Kind: USDT, PID: pid, File: "libstdc++", Name: "catch"})...)
	byName := map[string]int{}
	record(t, probes, perf.Target{PIDs: []int{pid}}, func() {
		p.work(t)
	}, func(_ int, e *event.Event) { byName[e.Stream.Schema.Name]++ })
	if byName["throw"] != 100 || byName["catch"] != 100 || byName["rethrow"] != 0 {
		t.Errorf("got %v, want 100 throws, 100 catches and no rethrow", byName)
	}
}

func TestPython(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	const python = "/usr/bin/python3.11"
	testkit.Requires(t, testkit.Python)
	p := start(t, exec.Command(python, "-ISc", `
import gc, sys
gc.disable()
print("ready 0", flush=True)
sys.stdin.readline()
for i in range(7): gc.collect(1)
print("done", flush=True)
sys.stdin.read()
`))
	byGeneration := map[int64]int{}
	record(t, resolve(t, Spec{Kind: USDT, File: python, Name: "python:gc__start"}),
		perf.Target{PIDs: []int{p.cmd.Process.Pid}},
		func() { p.work(t) }, func(_ int, e *event.Event) { byGeneration[num(t, e, "arg1")]++ })
	if byGeneration[1] != 7 || len(byGeneration) != 1 {
		t.Errorf("got collections %v by generation, want 7 of generation 1", byGeneration)
	}
}

// A stripped program whose symbols are in a file of its own.
func TestDebugFile(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Uprobes)
	bin := buildTarget(t, "-Wl,--build-id", "-g")
	testkit.Requires(t, testkit.Binutils)
	for _, args := range [][]string{
		{"--only-keep-debug", bin, bin + ".debug"}, {"--strip-all", bin},
		{"--add-gnu-debuglink=" + bin + ".debug", bin},
	} {
		if text, err := exec.Command("objcopy", args...).CombinedOutput(); err != nil {
			t.Fatalf("objcopy: %v\n%s", err, text)
		}
	}
	p := start(t, exec.Command(bin, "4"))
	hits := record(t, resolve(t, Spec{Kind: Uprobe, File: bin, Name: "work"}),
		perf.Target{PIDs: []int{p.cmd.Process.Pid}}, func() { p.work(t) }, nil)
	if hits[0] != 4 {
		t.Errorf("got %d hits, want 4", hits[0])
	}
}

// C++ and Go names as programmers write them; a Go program without symbols.
func TestNamesOfLanguages(t *testing.T) {
	dir := t.TempDir()
	testkit.Requires(t, testkit.GXX)
	cmd := exec.Command("g++", "-x", "c++", "-shared", "-fPIC", "-o", dir+"/lib.so", "-")
	cmd.Stdin = strings.NewReader(
		"namespace shop { struct Cart { int add(int); int add(long); }; int Cart::add(int a) { return a; } int Cart::add(long) { return 2; } }")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, text)
	}
	r := resolver(t)
	f := func(file, name string, want int) {
		t.Helper()
		m, _, _, err := r.open(&Spec{File: file})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.find(name); len(got) != want {
			t.Errorf("%s: got %v, want %d functions", name, got, want)
		}
	}
	f(dir+"/lib.so", "shop::Cart::add", 2)
	f(dir+"/lib.so", "shop::Cart::add(int)", 1)
	f(dir+"/lib.so", "_ZN4shop4Cart3addEl", 1)
	f(dir+"/lib.so", "shop::Cart::sub", 0)
	program := `package main

type T struct{ n int }

//go:noinline
func (t *T) Inc() { t.n++ }

func main() { t := &T{}; t.Inc(); println(t.n) }
`
	if err := os.WriteFile(dir+"/main.go", []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	testkit.Requires(t, testkit.Go)
	cmd = exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+"/stripped", dir+"/main.go")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GO111MODULE=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	f(dir+"/stripped", "main.(*T).Inc", 1)
}
