package hookcost

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// A program hides no event if each path ends with a constant other than 0.
func TestMayReturn0(t *testing.T) {
	f := func(name string, want bool, code asm.Instructions) {
		t.Helper()
		if got := mayReturn0(code); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	set := func(n int32) asm.Instruction { return asm.Mov.Imm(asm.R0, n) }
	jump := func(op asm.JumpOp, by int16) asm.Instruction {
		return asm.Instruction{OpCode: op.Op(asm.ImmSource), Dst: asm.R1, Offset: by}
	}
	call := asm.FnGetCurrentPidTgid.Call()
	wide := asm.LoadImm(asm.R2, 1<<40, asm.DWord) // takes the room of two
	f("0", true, asm.Instructions{set(0), asm.Return()})
	f("1", false, asm.Instructions{set(1), asm.Return()})
	f("result of a call", true, asm.Instructions{set(1), call, asm.Return()})
	f("1 after a call", false, asm.Instructions{call, set(1), asm.Return()})
	f("another register", false, asm.Instructions{set(1), asm.Mov.Imm(asm.R2, 0), asm.Return()})
	f("sum", true, asm.Instructions{set(1), asm.Add.Imm(asm.R0, -1), asm.Return()})
	f("copy", true, asm.Instructions{asm.Mov.Reg(asm.R0, asm.R1), asm.Return()})
	f("0 on one of two paths", true,
		asm.Instructions{set(1), jump(asm.JEq, 1), set(0), asm.Return()})
	f("0 behind a jump over two words", true,
		asm.Instructions{set(0), jump(asm.JEq, 3), wide, set(1), asm.Return()})
	f("1 on both paths", false,
		asm.Instructions{call, jump(asm.JEq, 3), wide, jump(asm.Ja, 0), set(1), asm.Return()})
	f("a loop", false, asm.Instructions{set(1), jump(asm.JEq, -1), asm.Return()})
	f("a subprogram that returns 0", false,
		asm.Instructions{jump(asm.JEq, 0), set(1), asm.Return(), set(0), asm.Return()})
}

// A program that returns 0 is found at its tracepoint, and one that returns 1 is not. The tracepoint is
// one that nothing else observes.
func TestHidingProgramsAreFound(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	id := numberOf(t, "oom/oom_score_adj_update")
	for value, want := range map[int32]string{0: "zero (program ", 1: ""} {
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "zero", Type: ebpf.TracePoint, License: "GPL",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, value), asm.Return()}})
		if err != nil {
			t.Fatal(err)
		}
		event := openEvent(t, id, "")
		fd := int(event.Fd())
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, prog.FD()); err != nil {
			t.Fatal(err)
		}
		got := FindHiding().At(id)
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("a program that returns %d: got %q, want %q", value, got, want)
		}
		var said string
		w := WatchMisses([]int{fd})
		if !w.News() || w.News() {
			t.Errorf("a program that returns %d: want news of it, once", value)
		}
		w.TellHiding(func(_ string, args ...any) { said += args[0].(string) }, "")
		w.TellHiding(func(_ string, args ...any) { said += args[0].(string) }, "")
		if said != got {
			t.Errorf("a program that returns %d: got the message of %q, want %q, once", value, said, got)
		}
		w.Close()
		event.Close()
		prog.Close()
	}
}
