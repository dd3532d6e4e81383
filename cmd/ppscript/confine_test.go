package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// walls names, for each subcommand, the sandbox that protects the machine from hostile input. A new
// subcommand needs an entry.
var walls = map[string]string{
	// Readers: each has a case of TestReadersAreConfined.
	"info": "reader", "test": "reader", "check": "reader", "explain": "reader", "usdt": "reader",
	"probe": "reader",
	// Commands that open events: TestOpenersAreConfined tests them, or they enter the sandbox as a run
	// does.
	"repl": "opener", "export": "opener", "record": "run",
	// It enters when it has opened what it reads and writes, before it reads.
	"resolve": "run",
	// The same; recordings are read by runs, which are behind walls of their own.
	"diff": "run",
	// Commands that merge results from other machines: TestFleetIsConfined,
	// TestAskersOfFleetsAreConfined.
	"hub": "network", "merger": "network", "fleet": "network",
	// These commands only start other processes, each with its own sandbox, and read requests.
	"agent": "starts", "mcp": "starts", "sealed": "starts",
	// Scripts, keys and settings of the user: text, which no parser of binary formats reads.
	"list": "texts", "help": "texts", "doc": "texts", "describe": "texts", "doctor": "texts",
	"mod": "texts", "fmt": "texts", "new": "texts", "version": "texts", "completion": "texts",
	"sign": "texts", "verify": "texts", "tls": "texts", "lsp": "texts",
}

// Each subcommand has an entry in walls.
func TestEveryCommandIsConfinedOrNeedsNoWalls(t *testing.T) {
	a := &app{}
	have := map[string]bool{}
	for _, c := range a.root().Commands() {
		have[c.Name()] = true
		if walls[c.Name()] == "" {
			t.Errorf("%s: say in walls what it reads, and have it enter the sandbox if others wrote that",
				c.Name())
		}
	}
	for name, kind := range walls {
		if !have[name] {
			t.Errorf("%s: there is no such command", name)
		}
		if kind == "reader" && !slices.ContainsFunc(readers, func(r reading) bool {
			return strings.HasPrefix(r.args, name)
		}) {
			t.Errorf("%s: it has no case of TestReadersAreConfined", name)
		}
	}
}

// reading is a command line whose last word is a file to read.
type reading struct {
	file, args string
	status     int
}

var readers = []reading{
	{"load.data", "info", 0},
	{"a_test.star", "test", 0},
	{"/bin/true", "--symbols", 0},
	{"/bin/true", "usdt list", 3},
	{"/bin/true", "probe -F -x", 3},
	{"load.data", "top -e sched:sched_switch --input", 0},
	{"load.data", "explain top -e sched:sched_switch --input", 0},
	{"load.data", "check ../../stdlib/syscalls.star --input", 0},
}

// The hub of a fleet and a merger give up the rights that they do not need before other machines can
// connect.
func TestFleetIsConfined(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	hub := testkit.Start(t, testkit.PPScript(t), "hub", "--listen", "127.0.0.1:0")
	hub.WaitStderr("127.0.0.1")
	_, url, _ := strings.Cut(strings.TrimSpace(hub.Stderr()), "the hub is at ")
	merger := testkit.Start(t, testkit.PPScript(t), "merger", "--hub", url)
	merger.WaitStderr("127.0.0.1")
	for _, p := range []*testkit.Process{hub, merger} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(string(text), "\n"+want+"\n") {
				t.Errorf("got\n%s\nwant %s", text, want)
			}
		}
	}
}

// An asker of a fleet is in the sandbox before it reads a message of the hub.
func TestAskersOfFleetsAreConfined(t *testing.T) {
	testkit.Requires(t, testkit.Root, testkit.Strace)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	hub := testkit.Start(t, testkit.PPScript(t), "hub", "--listen", address)
	hub.WaitStderr("127.0.0.1")
	_, port, _ := net.SplitHostPort(address)
	f := func(status int, said string, args ...string) {
		t.Helper()
		trace := filepath.Join(t.TempDir(), "trace")
		line := append([]string{"strace", "-f", "-o", trace, "-e", "trace=seccomp,prctl,connect",
			testkit.PPScript(t), "fleet", args[0], "--hub", "nats://" + address}, args[1:]...)
		r := testkit.Run(t, line...).Want(t, status)
		if !strings.Contains(r.Stdout+r.Stderr, said) {
			t.Errorf("%v: got %s%s, want %s", args, r.Stdout, r.Stderr, said)
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		before, _, connected := strings.Cut(string(text), "htons("+port+")")
		if !connected {
			t.Fatalf("%v: it does not connect:\n%s", args, text)
		}
		for _, wall := range []string{"PR_SET_NO_NEW_PRIVS", "SECCOMP_SET_MODE_FILTER"} {
			if !strings.Contains(before, wall) {
				t.Errorf("%v: %s comes after it has connected:\n%s", args, wall, before)
			}
		}
	}
	f(0, "HOST", "hosts")
	f(0, "no jobs run", "jobs")
	f(1, "no host knows that job", "logs", "0123456789")
	f(1, "no host runs that job", "stop", "0123456789")
	f(1, "no host", "run", "syscalls", "--duration", "1s")
}

// Commands that read files from elsewhere are in the sandbox before they open one.
func TestReadersAreConfined(t *testing.T) {
	testkit.Requires(t, testkit.Strace)
	data, err := filepath.Abs("../../tests/data/load.data")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "a_test.star")
	if err := os.WriteFile(script, []byte("def test_a():\n    assert.eq(1, 1)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range readers {
		switch c.file {
		case "load.data":
			c.file = data
		case "a_test.star":
			c.file = script
		}
		trace := filepath.Join(dir, "trace")
		args := append([]string{"strace", "-f", "-o", trace, "-e", "trace=seccomp,prctl,openat",
			testkit.PPScript(t)}, strings.Fields(c.args)...)
		testkit.Run(t, append(args, c.file)...).Want(t, c.status)
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		before, _, opened := strings.Cut(string(text), `AT_FDCWD, "`+c.file+`"`)
		if !opened {
			t.Fatalf("%s: the file is not opened:\n%s", c.args, text)
		}
		for _, wall := range []string{"PR_SET_NO_NEW_PRIVS", "SECCOMP_SET_MODE_FILTER"} {
			if !strings.Contains(before, wall) {
				t.Errorf("%s: %s comes after the file is opened", c.args, wall)
			}
		}
	}
}

// A process that will open events gives up all other rights, and can still count events.
func TestOpenersAreConfined(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	dir := t.TempDir()
	config := filepath.Join(dir, "export.conf")
	err := os.WriteFile(config, []byte("switches: top -e sched:sched_switch -i 200\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f := func(said string, args ...string) {
		t.Helper()
		p := testkit.Start(t, append([]string{testkit.PPScript(t)}, args...)...)
		p.WaitStderr(said)
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		status := strings.ReplaceAll(string(text), "\t", " ")
		for _, want := range []string{"NoNewPrivs: 1", "Seccomp: 2"} {
			if !strings.Contains(status, "\n"+want+"\n") {
				t.Errorf("%v: want %s:\n%s", args, want, status)
			}
		}
		_, caps, _ := strings.Cut(status, "CapPrm: ")
		caps, _, _ = strings.Cut(caps, "\n")
		if n, err := strconv.ParseUint(caps, 16, 64); err != nil || n&(1<<unix.CAP_SYS_MODULE) != 0 {
			t.Errorf("%v: it may load modules: %s, %v", args, caps, err)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
	}
	f("sandbox: capabilities, seccomp", "export", config, "--http", "127.0.0.1:0", "-vv")
	f("sandbox: capabilities, seccomp", "record", "--flight", "1s", "-e", "sched:sched_switch", "-vv",
		"--when", "syscalls --than 10s", "-o", filepath.Join(dir, "x"))
	// The prompt prints its own rights.
	question := filepath.Join(dir, "question")
	err = os.WriteFile(question, []byte(`r = run(tracepoint("sched:sched_switch").count(), seconds = 0.2)
print(r.rows[0].count > 0)
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	out := testkit.Run(t, "sh", "-c", testkit.PPScript(t)+" repl -vv <"+question).Want(t, 0)
	if !strings.Contains(out.Stderr, "sandbox: capabilities, seccomp") ||
		!strings.Contains(out.Stdout+out.Stderr, "True") {
		t.Errorf("the prompt: got %s\n%s", out.Stdout, out.Stderr)
	}
}

// --no-sandbox prints that the run keeps all rights.
func TestNoSandboxIsSaid(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	for _, args := range [][]string{
		{"record", "-e", "sched:sched_process_exec", "-o", filepath.Join(t.TempDir(), "x")}, {"syscalls"},
	} {
		args = append(append([]string{testkit.PPScript(t)}, args...), "--no-sandbox", "--", "true")
		if out := testkit.Run(t, args...).Want(t, 0); strings.Count(out.Stderr, "--no-sandbox: ") != 1 {
			t.Errorf("%v: got %s", args, out.Stderr)
		}
	}
}
