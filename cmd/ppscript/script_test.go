package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/runtime/system/workload"
	"ppscript/tests/testkit"

	"github.com/rogpeppe/go-internal/testscript"
)

// This file runs tests/script/*.txtar. Beside testscript's own commands they
// have:
//
//	fails CODE ppscript ARGS...   exit CODE, one error on stderr with a hint, no Go stack
//	exits CODE ppscript ARGS...   exit CODE, no Go stack
//	damage SRC DST truncate N     a copy of which N bytes are left
//	damage SRC DST flip N         a copy with byte N inverted
//	waitfor FILE TEXT             until FILE contains TEXT
//	gitrepo DIR VERSION...        makes DIR the repository https://ex.com/perf/DIR with tags
//	gitmove DIR VERSION           gives the tag other contents
//
// and the conditions in the function condition.
//
// ppscript-nobody is ppscript without any privilege. $DATA is tests/data, $SCRIPTS is scripts/,
// $UNIQUE a number that no other run of the tests has at the same time.

func TestMain(m *testing.M) {
	workload.MaybeExecChild()
	testscript.Main(m, map[string]func(){
		"ppscript":        main,
		"ppscript-nobody": unprivileged,
	})
}

// unprivileged runs ppscript as an ordinary user.
func unprivileged() {
	const nobody = 65534
	if os.Geteuid() != 0 {
		main()
		return
	}
	for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "drop privileges:", err)
			os.Exit(99)
		}
	}
	main()
}

func TestScripts(t *testing.T) {
	data, err := filepath.Abs("../../tests/data")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "../../tests/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DATA", data)
			e.Setenv("SCRIPTS", filepath.Join(filepath.Dir(filepath.Dir(data)), "scripts"))
			e.Setenv("TZ", "UTC")
			e.Setenv("UNIQUE", strconv.Itoa(os.Getpid()))
			return nil
		},
		Condition:       condition,
		ContinueOnError: true,
		// A command that does not end is named as the failure; all scripts
		// together take a minute.
		Deadline: time.Now().Add(testkit.Patience(8 * time.Minute)),
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"fails": func(ts *testscript.TestScript, neg bool, args []string) {
				status(ts, neg, args, true)
			},
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				status(ts, neg, args, false)
			},
			"damage":  damage,
			"waitfor": waitFor,
			"gitrepo": gitRepo,
			"gitmove": gitMove,
		},
	})
}

// condition knows root, sysfs, tracefs (it can be read), live (events of the kernel can be opened) and
// has:NAME, a program. Unlike testscript's own exec:NAME the latter is an error where
// .ci/run installs the program: no script is skipped on every machine.
func condition(name string) (bool, error) {
	if program, ok := strings.CutPrefix(name, "has:"); ok {
		return testkit.Have(testkit.Program(program))
	}
	switch name {
	case "root":
		return testkit.Have(testkit.Root)
	case "sysfs":
		return testkit.Have(testkit.Sysfs)
	case "tracefs":
		return testkit.Have(testkit.Tracefs)
	case "live":
		return testkit.Have(testkit.Live...)
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

func status(ts *testscript.TestScript, neg bool, args []string, failing bool) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fails|exits CODE ppscript ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	stderr := ts.ReadFile("stderr")
	if got != want {
		ts.Fatalf("exit code: got %d, want %d", got, want)
	}
	for _, bad := range []string{"goroutine ", "panic:", "BUG:"} {
		if strings.Contains(stderr, bad) {
			ts.Fatalf("stderr has %q", bad)
		}
	}
	if !failing {
		return
	}
	errs, hints := 0, 0
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "ppscript: ") {
			errs++
		}
		if strings.HasPrefix(line, "hint: ") {
			hints++
		}
	}
	if errs != 1 || hints != 1 {
		ts.Fatalf("stderr: got %d errors and %d hints, want one each", errs, hints)
	}
}

func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: damage SRC DST truncate|flip N")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	n, err := strconv.Atoi(args[3])
	ts.Check(err)
	if n >= len(text) {
		ts.Fatalf("%s has only %d bytes", args[0], len(text))
	}
	text = bytes.Clone(text)
	switch args[2] {
	case "truncate":
		text = text[:n]
	case "flip":
		text[n] ^= 0xff
	default:
		ts.Fatalf("unknown damage %s", args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o666))
}

// waitFor polls a file; its deadline only ends a test that has failed.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE TEXT")
	}
	deadline := time.Now().Add(60 * time.Second)
	for {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(text), args[1]) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: no %q in it: %v", args[0], args[1], err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// gitRepo commits the files of a directory once for each version, with the
// version in the place of VERSION, and tells git that they are on ex.com.
func gitRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: gitrepo DIR VERSION...")
	}
	work := ts.Getenv("WORK")
	config := fmt.Sprintf("[user]\n\tname = t\n\temail = t@ex.com\n"+
		"[url \"file://%s/\"]\n\tinsteadOf = https://ex.com/perf/\n"+
		"[protocol \"file\"]\n\tallow = always\n[safe]\n\tdirectory = *\n", work)
	ts.Check(os.WriteFile(ts.Getenv("GIT_CONFIG_GLOBAL"), []byte(config), 0o666))
	dir := ts.MkAbs(args[0])
	ts.Check(ts.Exec("git", "-C", dir, "init", "--quiet", "--initial-branch", "main"))
	texts := map[string]string{}
	names, err := filepath.Glob(filepath.Join(dir, "*.star"))
	ts.Check(err)
	for _, n := range names {
		texts[n] = ts.ReadFile(n)
	}
	for _, version := range args[1:] {
		for n, text := range texts {
			text = strings.ReplaceAll(text, "VERSION", strings.TrimPrefix(version, "v"))
			ts.Check(os.WriteFile(n, []byte(text), 0o666))
		}
		ts.Check(ts.Exec("git", "-C", dir, "add", "."))
		ts.Check(ts.Exec("git", "-C", dir, "commit", "--quiet", "--allow-empty", "-m", version))
		ts.Check(ts.Exec("git", "-C", dir, "tag", version))
	}
}

func gitMove(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gitmove DIR VERSION")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(filepath.Join(dir, "more.star"), []byte("x = 1\n"), 0o666))
	ts.Check(ts.Exec("git", "-C", dir, "add", "."))
	ts.Check(ts.Exec("git", "-C", dir, "commit", "--quiet", "-m", "moved"))
	ts.Check(ts.Exec("git", "-C", dir, "tag", "--force", args[1]))
}
