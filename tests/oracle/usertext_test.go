package oracle

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// File names equal those that bpftrace reads for the same calls, in predicates
// and when they are sent.
func TestUserTextsEqualBpftrace(t *testing.T) {
	live(t, testkit.Bpftrace, testkit.AMD64)
	name := fmt.Sprintf(`/no/such/"é"%d`, os.Getpid()) // bpftrace splits words at spaces
	opens := `tracepoint("syscalls:sys_enter_openat")`
	end := func(p *testkit.Process) int {
		n := 0
		for _, e := range testkit.Events(t, p.Stop().Want(t, 0).Stdout) {
			if e.Text == "file="+name {
				n++
			}
		}
		return n
	}
	var ours []*testkit.Process
	for _, where := range []string{
		fmt.Sprintf(`lambda e: user_string(e.filename).endswith("%d")`, os.Getpid()),
		`"comm ~ \"load-*\""`,
	} {
		p := testkit.Start(t, testkit.PPScript(t), "-c", opens+".where("+where+
			`).log(fields = {"file": "user_string(filename)"})`, "-v", "--format", "json")
		p.WaitStderr(" open event")
		ours = append(ours, p)
	}
	theirs := testkit.Run(t, "bpftrace", "-c",
		fmt.Sprintf("%s -fail %d -name %s", testkit.Load(t), fails, name),
		"-e",
		`tracepoint:syscalls:sys_enter_openat /pid == cpid/ { printf("<%s>\n", str(args->filename)); }`).
		Want(t, 0)
	want := strings.Count(theirs.Stdout, "<"+name+">\n")
	for i, p := range ours {
		if n := end(p); n != want || want != fails {
			t.Errorf("%d: got %d calls, bpftrace has %d, want %d", i, n, want, fails)
		}
	}
}

// fails is the number of calls that these tests make.
const fails = 20

// Texts among the arguments of calls are shown in quotes; without programs,
// their addresses are shown.
func TestSyscallTraceShowsTexts(t *testing.T) {
	live(t, testkit.AMD64)
	name := "/no/such/\"file\" \t'é'"
	for engine, want := range map[string]string{
		"auto": strconv.Quote(name) + ", flags: RDONLY",
		"bpf":  strconv.Quote(name) + ", flags: RDONLY",
		"perf": "0x",
	} {
		out := testkit.Run(t, testkit.PPScript(t), "syscall-trace", "--engine", engine, "-e", "openat",
			"--format", "json", "--", testkit.Load(t), "-fail", strconv.Itoa(fails), "-name", name).Want(t, 0)
		n := 0
		for _, e := range testkit.Events(t, out.Stdout) {
			if strings.HasPrefix(e.Comm, "load-") &&
				strings.HasPrefix(e.Text, "call=openat(dfd: CWD, filename: "+want) {
				n++
			}
		}
		if n != fails {
			t.Errorf("%s: got %d calls with %s, want %d:\n%.2000s", engine, n, want, fails, out.Stdout)
		}
	}
}

// A pair has the text of its start: opensnoop's rows equal the known calls.
func TestOpensnoopIsKnown(t *testing.T) {
	live(t, testkit.AMD64)
	name := fmt.Sprintf("/no/such/%d", os.Getpid())
	out := testkit.Run(t, testkit.PPScript(t), "../../scripts/block/opensnoop.star", "--table",
		"--failed", "--file", name, "--format", "json", "--",
		testkit.Load(t), "-fail", strconv.Itoa(fails), "-name", name).Want(t, 0)
	rows := 0
	for _, table := range testkit.Tables(t, out.Stdout) {
		for _, r := range table.Rows {
			if rows++; r.Text(t, "file") != name || r.Int(t, "failed") != fails ||
				!strings.HasPrefix(r.Text(t, "comm"), "load-") {
				t.Errorf("got %v, want %d failed calls of %s", r, fails, name)
			}
		}
	}
	if rows != 1 {
		t.Errorf("got %d rows, want 1:\n%s", rows, out.Stdout)
	}
}

// Names that are passed to functions of a library equal those that the functions pass to the
// kernel, although no page of them is in memory at the call, and the process ends at once.
func TestOpensnoopOfLibrary(t *testing.T) {
	live(t, testkit.AMD64, testkit.Uprobes)
	program := compiled(t, "constants.c")
	opens := func(args ...string) map[string]int64 {
		args = append([]string{testkit.PPScript(t), "opensnoop", "--table", "--file",
			"/no/such/constant/*", "--rows", "100", "--format", "json", "-v"}, args...)
		out := testkit.Run(t, append(args, "--", program)...).Want(t, 0)
		if !strings.Contains(out.Stderr, "no open events") {
			t.Errorf("%v: got %s, want programs that count", args, out.Stderr)
		}
		files := map[string]int64{}
		for _, table := range testkit.Tables(t, out.Stdout) {
			for _, r := range table.Rows {
				if r.Text(t, "comm") != "constants" || r.Int(t, "failed") != r.Int(t, "opens") {
					t.Errorf("got %v, want failed calls of constants", r)
				}
				files[r.Text(t, "file")] += r.Int(t, "opens")
			}
		}
		return files
	}
	kernel, library := opens(), opens("--lib", "libc")
	for i := range 60 {
		if name := fmt.Sprintf("/no/such/constant/%d", 10+i); kernel[name] != 1 || library[name] != 1 {
			t.Errorf("%s: got %d calls of the kernel and %d of the library, want 1", name, kernel[name],
				library[name])
		}
	}
	if len(kernel) != 60 || len(library) != 60 {
		t.Errorf("got %d and %d names, want 60", len(kernel), len(library))
	}
}
