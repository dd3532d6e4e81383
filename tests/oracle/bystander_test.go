package oracle

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// Programs of ppscript at a tracepoint hide none of its events from other tracers; the
// kernel would hide them if a program returned 0.
func TestBystandersSeeAllEvents(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 1000
	f := func(event string, args ...string) {
		t.Helper()
		p := testkit.Start(t, append([]string{testkit.PPScript(t), "-v"}, args...)...)
		p.WaitStderr(" open event")
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		count := testkit.Counter(t, event)
		for range calls {
			_, _ = unix.Open("/no/such/file", unix.O_RDONLY, 0)
		}
		// While another program runs on the CPU the kernel hides an event.
		if got := count(); got < calls-calls/20 {
			t.Errorf("%s beside %v: got %d events, want %d", event, args, got, calls)
		}
		p.Stop().Want(t, 0)
	}
	self := strconv.Itoa(os.Getpid())
	// A program at the end of the call reads texts that were not in memory.
	f("syscalls:sys_exit_openat", "-p", self, "-c",
		`tracepoint("syscalls:sys_enter_openat").log(fields = {"file": "user_string(filename)"})`)
	f("syscalls:sys_enter_openat", "top", "--engine", "bpf", "-p", self, "-e", "syscalls:sys_enter_openat//key=pid/")
	f("syscalls:sys_enter_openat", "top", "--engine", "bpf", "-e", "syscalls:sys_enter_openat/flags==4095/key=pid/")
}

// A program of another tool that returns 0 hides all events of its tracepoint from perf. Programs of ours
// get them, and with --engine perf a message names the program. Nothing else makes these calls.
func TestEventsThatOthersHide(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 100
	attach := func() {
		t.Helper()
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "zero", Type: ebpf.TracePoint, License: "GPL",
			Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { prog.Close() })
		l, err := link.Tracepoint("syscalls", "sys_enter_ioprio_get", prog, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	start := func(args ...string) *testkit.Process {
		t.Helper()
		self := strconv.Itoa(os.Getpid())
		p := testkit.Start(t, append([]string{testkit.PPScript(t), "-v", "-p", self, "-c",
			`tracepoint("syscalls:sys_enter_ioprio_get").log(fields = {"which": "which"})`}, args...)...)
		p.WaitStderr(" open event")
		return p
	}
	rows := func(p *testkit.Process) int {
		t.Helper()
		for range calls {
			_, _, _ = unix.Syscall(unix.SYS_IOPRIO_GET, 1, 0, 0)
		}
		out := p.Stop()
		out.Want(t, 0)
		return strings.Count(out.Stdout, "which=1")
	}
	// It is attached during the run, which cannot read programs any more.
	p := start("--engine", "perf")
	attach()
	if n := rows(p); n != 0 || !strings.Contains(p.Stderr(), "another tool attached BPF programs there") {
		t.Errorf("--engine perf: got %d events, want none: else the kernel hides nothing; stderr %s", n,
			p.Stderr())
	}
	// It was there before.
	p = start("--engine", "perf")
	p.WaitStderr("without --engine perf, programs")
	if n := rows(p); n != 0 {
		t.Errorf("--engine perf: got %d events, want none: else the kernel hides nothing", n)
	}
	if n := rows(start()); n != calls {
		t.Errorf("got %d events, want %d", n, calls)
	}
}
