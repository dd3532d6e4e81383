package oracle

import (
	"debug/elf"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Functions that are called from everywhere, by C and C++, in exceptions,
// callbacks of the C library and signal handlers: the stacks of probes there
// equal the debugger's backtraces, frame by frame.
func TestStacksEqualGDB(t *testing.T) {
	live(t, testkit.AMD64, testkit.GDB, testkit.GCC, testkit.GXX)
	f := func(source, function string, flags ...string) {
		t.Helper()
		program := compiled(t, "../../../runtime/stack/unwind/testdata/"+source,
			append([]string{"-O2", "-no-pie", "-fomit-frame-pointer"}, flags...)...)
		r := testkit.RunGDB(t, program, []uint64{address(t, program, function)})
		got := probedStacks(t, program, function)
		if len(got) != len(r.Stops) || len(got) < 30 {
			t.Fatalf("%s: got %d stacks, want the debugger's %d, at least 30", source, len(got), len(r.Stops))
		}
		frames, differ := 0, 0
		for i, s := range r.Stops {
			frames += len(s.Stack)
			if !sameFrames(got[i], s.Stack) {
				if differ++; differ <= 3 {
					t.Errorf("%s, stack %d: got %v, want %v", source, i, got[i], s.Stack)
				}
			}
		}
		t.Logf("%s: %d stacks, %d frames: %d differ", source, len(got), frames, differ)
	}
	f("points.c", "leaf")
	f("points.c", "leaf", "-static")
	f("points.cc", "_Z4leafl")
}

// address returns the address of a function.
func address(t *testing.T, program, function string) uint64 {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == function {
			return s.Value
		}
	}
	t.Fatalf("%s has no function %s", program, function)
	return 0
}

// probedFrame is a frame in ppscript's output.
type probedFrame struct{ Addr, Symbol string }

func (f probedFrame) String() string { return f.Addr + " " + f.Symbol }

// probedStacks returns the stacks at the hits of a probe at a function, in the order of a run.
func probedStacks(t *testing.T, program, function string) (stacks [][]probedFrame) {
	t.Helper()
	out := testkit.Run(t, testkit.PPScript(t), "trace", "-g", "--user-callchain=dwarf",
		"--no-kernel-callchain", "--format", "json", "-m", "2048",
		"-e", "uprobe:"+function+`@"`+program+`"`, "--", program).Want(t, 0)
	for line := range strings.Lines(out.Stdout) {
		var r struct {
			Type string
			Data struct{ Stack []probedFrame }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if r.Type == "event" {
			stacks = append(stacks, r.Data.Stack)
		}
	}
	return stacks
}

// sameFrames compares addresses in the program. Its libraries have other
// addresses in another run.
func sameFrames(got []probedFrame, want []testkit.GDBFrame) bool {
	const libraries = 0x10000000
	if len(got) != len(want) {
		return false
	}
	for i, w := range want {
		addr, err := strconv.ParseUint(got[i].Addr, 0, 64)
		if err != nil {
			return false
		}
		if !w.Handler && (w.Addr < libraries && addr != w.Addr || w.Addr >= libraries && addr < libraries) {
			return false
		}
	}
	return true
}
