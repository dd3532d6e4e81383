package testkit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A GDBFrame is a line of a backtrace.
type GDBFrame struct {
	Addr     uint64 // 0 if Handler
	Function string // "" if the debugger knows none
	Handler  bool   // the frame that the kernel made to call a handler
}

func (f GDBFrame) String() string { return fmt.Sprintf("%#x %s", f.Addr, f.Function) }

// A gdbStop is a place where the debugger stopped a program.
type gdbStop struct {
	Stack []GDBFrame // innermost first, to the program's first function
	// Regs has ax bx cx dx si di bp sp ip r8 to r15, in the order of the
	// kernel's enum perf_event_x86_regs; Memory is the stack from sp on.
	Regs   []uint64
	Memory []byte
}

// A GDBMapping is executable code of the program.
type GDBMapping struct {
	Addr, Len, Offset uint64
	File              string
}

// GDBRun has the stops and mappings of a program under the debugger.
type GDBRun struct {
	Stops    []gdbStop
	Mappings []GDBMapping
}

var (
	gdbFrame   = regexp.MustCompile(`^#(\d+) +(?:0x([0-9a-f]+) in )?(.*)$`)
	gdbMapping = regexp.MustCompile(`^(0x[0-9a-f]+) +(0x[0-9a-f]+) +` +
		`(0x[0-9a-f]+) +(0x[0-9a-f]+) +r-xp +(\S+)$`)
)

// RunGDB runs a program for amd64 under the debugger, which stops at each of the
// addresses, in main or later, every time that the program reaches one.
func RunGDB(t testing.TB, program string, addrs []uint64) GDBRun {
	t.Helper()
	dir := t.TempDir()
	var script strings.Builder
	for _, option := range []string{"pagination off", "width 0", "height 0", "confirm off",
		"print frame-arguments none", "print entry-values no",
		"print address on", "backtrace past-main on", "startup-with-shell off",
		// With debug information gdb also shows inlined functions and functions
		// that ended in a jump, which have no frames.
		"debug-file-directory /nonexistent"} {
		script.WriteString("set " + option + "\n")
	}
	script.WriteString("handle all nostop noprint pass\nhandle SIGTRAP stop noprint nopass\n")
	// The stack above main's frame belongs to the functions that call main.
	script.WriteString("tbreak *main\nrun\ninfo proc mappings\nset $end = $rsp + 640\nset $n = 0\n")
	for _, addr := range addrs {
		fmt.Fprintf(&script, "break *%#x\n", addr)
	}
	fmt.Fprintf(&script, "commands 2-%d\nsilent\n", len(addrs)+1)
	script.WriteString(`printf "regs`)
	registers := strings.Fields("rax rbx rcx rdx rsi rdi rbp rsp rip r8 r9 r10 r11 r12 r13 r14 r15")
	script.WriteString(strings.Repeat(" %lx", len(registers)) + `\n"`)
	for _, r := range registers {
		script.WriteString(", (unsigned long)$" + r)
	}
	fmt.Fprintf(&script, "\nbt\neval \"dump binary memory %s/%%d %%lu %%lu\", $n, $rsp, $end\n", dir)
	script.WriteString("set $n = $n + 1\ncontinue\nend\ncontinue\n")
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	// Each stop needs the CPU several times: on a busy machine that takes long.
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "gdb", "-nx", "-batch", "-x", file, program).CombinedOutput()
	if !strings.Contains(string(out), "exited normally") {
		t.Fatalf("gdb (%v): the program did not end well:\n%s", err, out[max(0, len(out)-2000):])
	}
	return parseGDB(t, string(out), dir)
}

// parseGDB parses the output of the script; dir has the stacks.
func parseGDB(t testing.TB, output, dir string) (r GDBRun) {
	t.Helper()
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
		if err != nil {
			t.Fatalf("gdb: %v", err)
		}
		return n
	}
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if m := gdbMapping.FindStringSubmatch(line); m != nil {
			r.Mappings = append(r.Mappings, GDBMapping{number(m[1]), number(m[3]), number(m[4]), m[5]})
			continue
		}
		if values, ok := strings.CutPrefix(line, "regs "); ok {
			memory, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(len(r.Stops))))
			if err != nil {
				t.Fatal(err)
			}
			s := gdbStop{Memory: memory}
			for _, v := range strings.Fields(values) {
				s.Regs = append(s.Regs, number(v))
			}
			r.Stops = append(r.Stops, s)
			continue
		}
		m := gdbFrame.FindStringSubmatch(line)
		if m == nil || len(r.Stops) == 0 {
			continue
		}
		s := &r.Stops[len(r.Stops)-1]
		f := GDBFrame{Handler: strings.Contains(m[3], "<signal handler called>")}
		switch {
		case f.Handler:
		case m[2] != "":
			f.Addr = number(m[2])
		default:
			t.Fatalf("gdb: got frame %q without an address", line)
		}
		if name, _, ok := strings.Cut(m[3], " ("); ok && name != "??" {
			f.Function = name
		}
		s.Stack = append(s.Stack, f)
	}
	return r
}
