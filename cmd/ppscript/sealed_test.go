package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Users of sudo run only the scripts that root's rules permit, and the journal records permitted and
// refused runs. A mount namespace has the test's rules in /etc, and the test's journal.
func TestSealed(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Program("unshare"))...)
	dir, err := os.MkdirTemp("/run", "ppscript-test") // its directories are root's alone
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	next := journalIn(t, dir)
	script := filepath.Join(dir, "calls.star")
	text := "def main(o):\n    return tracepoint(\"raw_syscalls:sys_enter\").by(\"id\").count()\n"
	rules := fmt.Sprintf("nobody syscalls --pids=* --duration=..1s exec=/bin/true exec=/usr/bin/true\n"+
		"nobody trace --events=sched:* --duration=..1s '--than=*'\n"+
		"#65534 %s sha256=%x --output=* write=%s exec=/usr/bin/true\n",
		script, sha256.Sum256([]byte(text)), dir)
	for name, text := range map[string]string{script: text, filepath.Join(dir, "sealed"): rules,
		filepath.Join(dir, "passwd"): "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const other = `mount -t tmpfs -o mode=755 none /etc && mkdir /etc/ppscript &&
cp "$0/sealed" /etc/ppscript/sealed && cp "$0/passwd" /etc/passwd && mkdir -p /run/systemd/journal && mount --bind "$0" /run/systemd/journal && exec "$@"`
	run := func(words ...string) testkit.Output {
		t.Helper()
		return testkit.Run(t, append([]string{"unshare", "-m", "sh", "-c", other, dir, "env",
			"SUDO_UID=65534", "SUDO_GID=65534", "SUDO_USER=nobody", "PATH=/nowhere",
			testkit.PPScript(t), "sealed"}, words...)...)
	}
	refused := func(why string, words ...string) {
		t.Helper()
		if r := run(words...); r.Exit == 0 || !strings.Contains(r.Stderr, why) ||
			!strings.Contains(r.Stderr, "hint: ") {
			t.Errorf("%v: got %d, %s, want %q", words, r.Exit, r.Stderr, why)
		}
		if e := next(); e.Type != "refused" || !strings.Contains(e.Error, why) || e.SudoUser != "nobody" {
			t.Errorf("%v: the journal has %+v", words, e)
		}
	}
	run("syscalls", "--", "true").Want(t, 0)
	if e := next(); e.Type != "run" || e.Rule != "/etc/ppscript/sealed:1" || e.Samples == 0 ||
		e.SudoUser != "nobody" {
		t.Errorf("got %+v, want the run by its rule", e)
	}
	result := filepath.Join(dir, "out")
	run(script, "-o", result, "--", "true").Want(t, 0)
	if e := next(); e.Rule != "/etc/ppscript/sealed:3" || len(e.Files) != 1 || e.Error != "" {
		t.Errorf("got %+v, want the run by its rule", e)
	}
	if _, err := os.Stat(result); err != nil {
		t.Error(err)
	}
	r := run("--list")
	if r.Want(t, 0); !strings.HasPrefix(r.Stdout, "syscalls --pids=* --duration=..1s exec=/bin/true") {
		t.Errorf("got %s", r.Stdout)
	}
	refused("may not run it", "runqlat")
	refused("does not allow it", "syscalls", "--tids", "1", "--", "true")
	refused("does not allow the value", "syscalls", "--duration", "1h", "--", "true")
	refused("does not allow to start it", "syscalls", "--", "sh", "-c", "id")
	for _, events := range []string{"sched:sched_switch,raw_syscalls:sys_enter",
		`sched:sched_switch//pull="/etc/passwd"/`} {
		refused("does not allow the value", "trace", "--duration=1s", "-e", events)
	}
	// Through sudo, error messages quote no file except root's rules.
	r = run("--check", filepath.Join(dir, "passwd"))
	if r.Exit == 0 || strings.Contains(r.Stderr, "/bin/sh") {
		t.Errorf("got %d, %s", r.Exit, r.Stderr)
	}
	r = run("--check", "/etc/ppscript/sealed")
	if r.Exit == 0 || !strings.Contains(r.Stderr, "has no option --than") ||
		strings.Contains(r.Stderr, "has no option --events") {
		t.Errorf("got %d, %s, want that trace has no --than", r.Exit, r.Stderr)
	}
	refused("has no write= of its directory", script, "-o", "/tmp/x", "--", "true")
	if err := os.WriteFile(script, []byte(text+" "), 0o644); err != nil {
		t.Fatal(err)
	}
	refused("is for a file with other contents", script, "--", "true")
}
