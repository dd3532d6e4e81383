package oracle

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Events that are sent with stacks arrive with them: over a socket, also in a
// directory without files and kernel information, of two senders at the same
// time, and from a file.
func TestPushedStacksArrive(t *testing.T) {
	live(t, testkit.AMD64, testkit.Program("chroot"))
	const calls = 700
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	enter, exit := "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"
	of110 := "/id == 110/"
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	first := attach(t, l, "trace", "-g", "-e", enter+of110+"push=\"0,unix:"+file("socket")+"\"/",
		"--flame-graph", file("first.folded"))
	second := attach(t, l, "trace", "-g", "-e", exit+of110+"push=0/", "--flame-graph", file("second.folded"))
	kept := attach(t, l, "trace", "-g", "-e", enter+of110+"push=\""+file("events")+"\"/", "--flame-graph",
		file("kept.folded"))
	at := func(p *testkit.Process) string {
		p.WaitStderr("listening at ")
		return between(p.Stderr(), "listening at ", "\n")
	}
	// Of both.
	first.WaitStderrTimes("listening at ", 2)
	one := enter + "//pull=" + at(first) + "/"
	two := "raw_syscalls:sys_*//pull=\"" + at(first) + "," + at(second) + "\"/"

	// Of both senders, in a directory with only the program: no /proc, no /sys,
	// no observed file.
	jail := file("jail")
	if err := os.Mkdir(jail, 0o700); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(testkit.PPScript(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(jail, "ppscript"), program, 0o700); err != nil {
		t.Fatal(err)
	}
	jailed := testkit.Start(t, "chroot", jail, "/ppscript", "trace", "-g", "-e", two,
		"--flame-graph", "/both.folded")
	shown := testkit.Start(t, testkit.PPScript(t), "trace", "-g", "-e",
		enter+"//pull=\""+file("socket")+"\"/", "--format", "json")
	graph := testkit.Start(t, testkit.PPScript(t), "trace", "-g", "-e", one, "--flame-graph",
		file("graph.folded"))
	first.WaitStderrTimes(" connected", 3)
	second.WaitStderrTimes(" connected", 1)
	l.Do()
	l.End()
	for _, p := range []*testkit.Process{first, second, kept, jailed, graph} {
		p.Wait().Want(t, 0)
	}

	own := folded(t, file("first.folded"))
	sum := int64(0)
	for stack, n := range own {
		sum += n
		if !strings.HasPrefix(stack, "load-") ||
			!strings.Contains(stack, ";golang.org/x/sys/unix.RawSyscallNoError.abi0;") {
			t.Errorf("got stack %s, want getppid of the load", stack)
		}
	}
	if sum != calls {
		t.Errorf("the sender counted %d, want %d", sum, calls)
	}
	same := func(name, path string, want map[string]int64) {
		t.Helper()
		got := folded(t, path)
		for stack, n := range want {
			if got[stack] != n {
				t.Errorf("%s: got %d times, want %d: %s", name, got[stack], n, stack)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %d stacks, want %d", name, len(got), len(want))
		}
	}
	same("live", file("graph.folded"), own)
	both := map[string]int64{}
	for _, name := range []string{"first.folded", "second.folded"} {
		for stack, n := range folded(t, file(name)) {
			both[stack] += n
		}
	}
	same("of both", filepath.Join(jail, "both.folded"), both)
	events := testkit.Events(t, shown.Wait().Want(t, 0).Stdout)
	if len(events) != calls {
		t.Errorf("got %d lines, want %d", len(events), calls)
	}

	// From a file, with every reader.
	want := folded(t, file("kept.folded"))
	for name, args := range map[string][]string{
		"pulled": {"-e", enter + "//pull=\"" + file("events") + "\"/"},
		"input":  {"-e", enter, "--input", file("events")},
	} {
		path := file(name + ".folded")
		testkit.Run(t, append([]string{testkit.PPScript(t), "trace", "-g", "--flame-graph", path},
			args...)...).Want(t, 0)
		same(name, path, want)
	}
	// With a run that forwards the events that it receives.
	testkit.Run(t, testkit.PPScript(t), "trace", "-g", "-e",
		enter+"//pull=\""+file("events")+"\"/push=\""+file("again")+"\"/").Want(t, 0)
	testkit.Run(t, testkit.PPScript(t), "trace", "-g", "-e", enter, "--input", file("again"), "--flame-graph",
		file("again.folded")).Want(t, 0)
	same("handed on", file("again.folded"), want)

	// Asking for stacks that were not sent gives a message.
	testkit.Run(t, testkit.PPScript(t), "trace", "-e",
		enter+"//pull=\""+file("events")+"\"/push=\""+file("bare")+"\"/").Want(t, 0)
	out := testkit.Run(t, testkit.PPScript(t), "trace", "-g", "-e", enter+"//pull=\""+file("bare")+"\"/",
		"-N", "1").Want(t, 0)
	if !strings.Contains(out.Stderr, "comes without call stacks") {
		t.Errorf("got %q, want to be told that there are no stacks", out.Stderr)
	}
}
