package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// Two hosts with separate networks: each has a network namespace, and a virtual
// cable connects them.
type hosts struct {
	t      *testing.T
	a, b   string // namespaces
	at     string // address at which a listens
	tokens string
}

func newHosts(t *testing.T) *hosts {
	t.Helper()
	live(t, testkit.AMD64, testkit.IP)
	id := strconv.Itoa(os.Getpid())
	h := &hosts{t: t, a: "ppscript-a-" + id, b: "ppscript-b-" + id, at: "10.211.7.1:9900"}
	ip := func(line string) testkit.Output {
		return testkit.Run(t, append([]string{"ip"}, strings.Fields(line)...)...)
	}
	t.Cleanup(func() {
		ip("netns del " + h.a)
		ip("netns del " + h.b)
	})
	made := ip("netns add " + h.a)
	testkit.Requires(t, testkit.Optional("network namespaces", outcome(made)))
	for _, line := range []string{
		"netns add B", "link add eth0 netns A type veth peer name eth0 netns B",
		"-n A addr add 10.211.7.1/24 dev eth0", "-n A link set eth0 up",
		"-n B addr add 10.211.7.2/24 dev eth0", "-n B link set eth0 up",
	} {
		ip(strings.NewReplacer(" A ", " "+h.a+" ", " B ", " "+h.b+" ", " B", " "+h.b).Replace(line)).
			Want(t, 0)
	}
	h.tokens = t.TempDir()
	for name, token := range map[string]string{"right": "0f1e2d3c4b5a", "wrong": "000000000000"} {
		if err := os.WriteFile(filepath.Join(h.tokens, name), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func outcome(out testkit.Output) error {
	if out.Exit != 0 {
		return fmt.Errorf("ip: %s", strings.TrimSpace(out.Stderr))
	}
	return nil
}

// on starts ppscript on a host.
func (h *hosts) on(host, token string, args ...string) *testkit.Process {
	h.t.Helper()
	words := append([]string{"ip", "netns", "exec", host, testkit.PPScript(h.t)}, args...)
	if token != "" {
		words = append(words, "--token-file", filepath.Join(h.tokens, token))
	}
	return testkit.Start(h.t, words...)
}

// A sender on one host and two receivers on another have the same numbers. A
// receiver with another token, or none, gets nothing and an error with the reason.
func TestHostsHaveTheSameNumbers(t *testing.T) {
	h := newHosts(t)
	const calls = 4000
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls), "-thread", "700")
	count := func(attributes string) []string {
		return []string{"--format", "json", "-c",
			`event("raw_syscalls:sys_enter` + attributes + `").by(thread = "_tid", comm = "_comm").agg(` +
				`calls = agg.count(), first = agg.min("time"), last = agg.max("time"))`}
	}
	sent := "/id == 110/push=" + h.at + "/"
	refused := h.on(h.a, "", append(count(sent), "-p", strconv.Itoa(l.PID()))...).Wait()
	if refused.Exit != 2 || !strings.Contains(refused.Stderr, "there is no token") ||
		!strings.Contains(refused.Stderr, "export PPSCRIPT_TOKEN=") {
		t.Errorf("no token: got status %d, %s", refused.Exit, refused.Stderr)
	}
	sender := h.on(h.a, "right", append(count(sent), "-p", strconv.Itoa(l.PID()))...)
	sender.WaitStderr("listening at " + h.at)
	pulled := count("//pull=" + h.at + "/")
	for token, why := range map[string]string{
		"wrong": "the sender has another PPSCRIPT_TOKEN", "": "the sender asks for a token",
	} {
		if out := h.on(h.b, token, pulled...).Wait(); out.Exit != 3 || !strings.Contains(out.Stderr, why) ||
			strings.Contains(out.Stdout, "table") {
			t.Errorf("token %q: got status %d, %s", token, out.Exit, out.Stderr)
		}
	}
	receivers := []*testkit.Process{h.on(h.b, "right", pulled...), h.on(h.b, "right", pulled...)}
	sender.WaitStderrTimes(" connected", 2)
	l.Do()
	l.End()
	rows := func(out testkit.Output) map[string]int64 {
		t.Helper()
		n := map[string]int64{}
		for _, r := range last(t, out.Stdout).Rows {
			n[fmt.Sprint(r)] += r.Int(t, "calls")
		}
		return n
	}
	own := rows(sender.Wait().Want(t, 0))
	total := int64(0)
	for _, n := range own {
		total += n
	}
	if total != calls+700 {
		t.Errorf("the sender counted %d, want %d", total, calls+700)
	}
	for i, r := range receivers {
		if got := rows(r.Wait().Want(t, 0)); !maps.Equal(got, own) {
			t.Errorf("receiver %d: got %v, want the sender's %v", i, got, own)
		}
	}
}

// If a sender is killed, its receiver says that it ended early, keeps the
// events that arrived, and fails with --strict.
func TestKilledSenderEndsEarly(t *testing.T) {
	h := newHosts(t)
	l := testkit.StartTarget(t, "-getppid", "500")
	sender := testkit.Start(t, "ip", "netns", "exec", h.a, testkit.PPScript(t), "trace", "-e",
		"raw_syscalls:sys_enter/id == 110/push="+h.at+"/",
		"-p", strconv.Itoa(l.PID()), "--token-file", filepath.Join(h.tokens, "right"))
	sender.WaitStderr("listening at ")
	receiver := h.on(h.b, "right", "trace", "-e", "raw_syscalls:sys_enter//pull="+h.at+"/", "--strict",
		"--format", "json")
	sender.WaitStderr(" connected")
	l.Do()
	receiver.Await("some calls", func(out string) bool {
		return strings.Count(out, "raw_syscalls:sys_enter") >= 100
	})
	sender.Signal(syscall.SIGKILL)
	out := receiver.Wait()
	if out.Exit != 4 || !strings.Contains(out.Stderr, "ended early") ||
		!strings.Contains(out.Stdout, `"ended_early":1`) {
		t.Errorf("got status %d, want 4 and the early end:\n%s\n%.300s", out.Exit, out.Stderr,
			out.Stdout[max(0, len(out.Stdout)-300):])
	}
	l.End()
}

// Over TLS two hosts have the same numbers without a token. A peer with another key, without a key
// or without encryption gets nothing, and both sides report why. Without TLS a message warns that
// others can read the events.
func TestHostsOverTLS(t *testing.T) {
	h := newHosts(t)
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "stranger"} {
		testkit.Run(t, testkit.PPScript(t), "tls", "new", filepath.Join(dir, name)).Want(t, 0)
	}
	with := func(own, peers string) []string {
		return []string{"--tls-key", filepath.Join(dir, own+".key"), "--tls-peers",
			filepath.Join(dir, peers+".crt")}
	}
	const calls = 3000
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	count := func(attributes string, more ...string) []string {
		return append([]string{"top", "--format", "json", "-e",
			"raw_syscalls:sys_enter" + attributes}, more...)
	}
	sender := h.on(h.a, "", append(count("/id == 110/push="+h.at+"/", "-p", strconv.Itoa(l.PID())),
		with("a", "b")...)...)
	sender.WaitStderr("listening at " + h.at)
	pulled := count("//pull=" + h.at + "/")
	f := func(want string, args ...string) {
		t.Helper()
		out := h.on(h.b, "", append(pulled, args...)...).Wait()
		if out.Exit != 3 || !strings.Contains(out.Stderr, want) || strings.Contains(out.Stdout, "table") {
			t.Errorf("%v: got status %d, %s", args, out.Exit, out.Stderr)
		}
	}
	f("the sender does not believe this side's certificate", with("stranger", "a")...)
	f("neither a trusted peer's", with("b", "stranger")...)
	sender.WaitStderr("neither a trusted peer's")
	sender.WaitStderr("does not believe this side's certificate")
	clear := h.on(h.b, "right", append(pulled, "--duration", "1")...)
	clear.WaitStderr("others may read and change them")
	clear.Signal(syscall.SIGINT)
	receiver := h.on(h.b, "", append(pulled, with("b", "a")...)...)
	sender.WaitStderr(") connected")
	l.Do()
	l.End()
	sum := func(out testkit.Output) (n int64) {
		for _, r := range last(t, out.Stdout).Rows {
			n += r.Int(t, "SYS_ENTER")
		}
		return n
	}
	if own := sum(sender.Wait().Want(t, 0)); own != calls {
		t.Errorf("the sender counted %d, want %d", own, calls)
	}
	if got := sum(receiver.Wait().Want(t, 0)); got != calls {
		t.Errorf("the receiver counted %d, want %d", got, calls)
	}
	clear.Wait()
}
