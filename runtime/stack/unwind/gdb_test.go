package unwind

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/target/task"
	"ppscript/tests/testkit"
)

var (
	functionLine    = regexp.MustCompile(`^[0-9a-f]+ <(.*)>:$`)
	instructionLine = regexp.MustCompile(`^ +([0-9a-f]+):\t([a-z0-9]+)`)
	ownFunction     = regexp.MustCompile(`^((leaf2?|descend|tail|dynamic|aligned|busy|many|late|large|` +
		`compare|sorter|away|jump|handler|fault|touch|signals|main)(\.\w+)*|` +
		`(guard::|square::|ring::|thrower|through|catcher|again|virtuals|long apply|closures|containers|leaf)\(?.*|.*@plt(-0x10)?)$`)
	notToProbe = regexp.MustCompile(`^(nop\w*|data16|cs|lock|int3|hlt|ud2|xchg|leave[a-z])$`)
)

// instructions are the addresses of a program's instructions, those of its own
// functions and of the stubs through which it calls others, at most so many.
func instructions(t *testing.T, program string, most int) []uint64 {
	t.Helper()
	out := testkit.Run(t, "objdump", "-d", "-C", "--no-show-raw-insn", "-j", ".text", "-j", ".plt", "-j",
		".plt.sec", program)
	var all []uint64
	wanted := false
	for line := range strings.Lines(out.Stdout) {
		line = strings.TrimRight(line, "\n")
		if m := functionLine.FindStringSubmatch(line); m != nil {
			wanted = ownFunction.MatchString(m[1])
		}
		if m := instructionLine.FindStringSubmatch(line); m != nil && wanted &&
			!notToProbe.MatchString(m[2]) {
			addr, err := strconv.ParseUint(m[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, addr)
		}
	}
	if step := (len(all) + most - 1) / most; step > 1 {
		some := all[:0]
		for i := 0; i < len(all); i += step {
			some = append(some, all[i])
		}
		all = some
	}
	if len(all) < 50 {
		t.Fatalf("got %d instructions of %s, want at least 50", len(all), program)
	}
	return all
}

// TestEveryInstruction checks that at each instruction that a program without frame pointers
// executes, in the middle of prologues and epilogues as well, our stack is the debugger's, frame by
// frame: with C, C++ with exceptions, callbacks of the C library, handlers of signals and calls of
// shared libraries.
func TestEveryInstruction(t *testing.T) {
	testkit.Requires(t, testkit.AMD64, testkit.GDB, testkit.GCC, testkit.GXX, testkit.Binutils, testkit.Long)
	f := func(compiler, source string, flags ...string) {
		t.Helper()
		program := filepath.Join(t.TempDir(), "points")
		if text, err := exec.Command(compiler,
			append(flags, "-O2", "-o", program, filepath.Join("testdata", source))...).
			CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", compiler, source, err, text)
		}
		addrs := instructions(t, program, 120)
		r := testkit.RunGDB(t, program, addrs)
		maps := task.NewMappings(task.MappingsOptions{
			NoProc: true, Files: dso.NewStore(dso.Options{SameKernel: true}),
		})
		defer maps.Close()
		for _, m := range r.Mappings {
			maps.Map(&perf.Mapping{
				PID: 1, Addr: m.Addr, Len: m.Len, Pgoff: m.Offset, Name: m.File, Prot: 5,
			}, 1)
		}
		u := New(Options{Maps: maps, Machine: elf.EM_X86_64})
		frames, differ, deepest := 0, 0, 0
		for i, s := range r.Stops {
			got, how := u.Walk(nil, 1, 2, Mask(elf.EM_X86_64), s.Regs, s.Memory)
			frames, deepest = frames+len(s.Stack), max(deepest, len(s.Stack))
			same := how.Whole() && slices.EqualFunc(got, s.Stack, func(addr uint64, f testkit.GDBFrame) bool {
				return f.Handler || addr == f.Addr
			})
			if !same {
				if differ++; differ <= 5 {
					t.Errorf("%s %v, stop %d: got %x (%v), want %v", source, flags, i, got, how.Stop, s.Stack)
				}
			}
		}
		t.Logf("%s %v: %d places, %d stacks, %d frames, the deepest stack has %d: %d differ", source, flags,
			len(addrs), len(r.Stops), frames, deepest, differ)
		if len(r.Stops) < 150 {
			t.Errorf("%s %v: got %d stacks, want at least 150", source, flags, len(r.Stops))
		}
	}
	f("gcc", "points.c", "-no-pie", "-fomit-frame-pointer", "-Wl,-z,lazy")
	f("gcc", "points.c", "-no-pie", "-fomit-frame-pointer", "-static")
	f("gcc", "points.c", "-no-pie", "-fno-omit-frame-pointer", "-Wl,-z,now")
	f("g++", "points.cc", "-no-pie", "-fomit-frame-pointer")
}
