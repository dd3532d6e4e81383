// Package units runs the commands of the systemd units in packaging/systemd as the units do: as an
// ordinary user with only the capabilities that the unit names.
package units

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// The units, below packaging/systemd.
const (
	exportUnit = "ppscript-export"
	agentUnit  = "ppscript-agent"
)

var units = []string{exportUnit, agentUnit}

// nobody is an ordinary user.
const nobody = 65534

// numbers are the numbers of capabilities in the kernel's capability.h.
var numbers = map[string]uintptr{
	"CAP_DAC_READ_SEARCH": 2, "CAP_SYS_PTRACE": 19, "CAP_SYSLOG": 34, "CAP_PERFMON": 38, "CAP_BPF": 39,
}

// capabilities returns the capabilities in a line of the unit.
func capabilities(t *testing.T, unit, setting string) (caps []uintptr) {
	t.Helper()
	text, err := os.ReadFile("../../packaging/systemd/" + unit + ".service")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^` + setting + `=(.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatalf("%s is not set", setting)
	}
	for _, name := range strings.Fields(string(line[1])) {
		n, ok := numbers[name]
		if !ok {
			t.Fatalf("%s has %s, which it should not need", setting, name)
		}
		caps = append(caps, n)
	}
	return caps
}

// program returns a copy of ppscript that every user may run.
func program(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ppscript-units")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text, err := os.ReadFile(testkit.PPScript(t))
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	path := filepath.Join(dir, "ppscript")
	if err == nil {
		err = os.WriteFile(path, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// service returns the command line that starts the program as a unit does.
func service(t *testing.T, unit, path string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
		AmbientCaps: capabilities(t, unit, "AmbientCapabilities"),
	}
	return cmd
}

// asService runs the program to its end.
func asService(t *testing.T, path string, args ...string) (stdout string) {
	t.Helper()
	cmd := service(t, exportUnit, path, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	stop := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer stop.Stop()
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %v\n%s", args, err, errs.String())
	}
	return out.String()
}

// The profilers need no more capabilities than the unit has, in each engine.
func TestCapabilitiesSuffice(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	path := program(t)
	command := filepath.Join(filepath.Dir(path), "load.sh")
	text := []byte("#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8; do /bin/true; done\n")
	if err := os.WriteFile(command, text, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		engines string
		args    []string
	}{
		{"perf bpf", []string{"syscalls"}},
		{"perf", []string{"stat", "-e", "sched:sched_process_exec,raw_syscalls:sys_enter"}},
		{"perf bpf", []string{"runqlat"}},
		{"perf", []string{"trace", "-e", "sched:sched_process_exec"}},
		{"perf bpf", []string{"top", "-e", "sched:sched_switch"}},
	} {
		for engine := range strings.SplitSeq(c.engines, " ") {
			args := append(slices.Clone(c.args), "--engine", engine, "--format", "json", "--", command)
			out := asService(t, path, args...)
			end := regexp.MustCompile(`"type":"end","data":\{"samples":(\d+)`).FindStringSubmatch(out)
			if end == nil || end[1] == "0" {
				t.Errorf("%v: got no events\n%s", args, out)
			}
		}
	}
	// Stacks of a program that root runs have names: ppscript can read its maps and
	// its file.
	target := exec.Command("/bin/sh", "-c", "while :; do :; done")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		target.Process.Kill()
		target.Wait()
	}()
	out := asService(t, path, "profile", "-F", "997", "-p", fmt.Sprint(target.Process.Pid),
		"--duration",
		"300ms", "-g", "--flame-graph", "-")
	if !strings.Contains(out, "sh;") || !strings.Contains(out, "__libc_start_main") {
		t.Errorf("got no names in stacks:\n%s", out)
	}
}

// The unit serves its metrics, but only to clients that know the secret.
func TestExport(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	path := program(t)
	dir := filepath.Dir(path)
	config, token := filepath.Join(dir, "export.conf"), filepath.Join(dir, "token")
	if err := errors.Join(os.WriteFile(config, []byte("calls: syscalls\nwait: runqlat\n"), 0o644),
		os.WriteFile(token, []byte("0123456789abcdef0123456789abcdef\n"), 0o600),
		os.Chown(token, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := service(t, exportUnit, path, "export", config, "--http", "127.0.0.1:0", "--http-token",
		token, "-i", "200ms")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	lines := bufio.NewScanner(said)
	var url string
	for url == "" && lines.Scan() {
		url = regexp.MustCompile(`http://\S+/metrics`).FindString(lines.Text())
	}
	go io.Copy(io.Discard, said)
	scrape := func(authorization string) (int, string) {
		t.Helper()
		q, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", authorization)
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	if code, _ := scrape("Bearer wrong"); code != http.StatusUnauthorized {
		t.Errorf("got %d with a wrong secret", code)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		code, text := scrape("Bearer 0123456789abcdef0123456789abcdef")
		if code == 200 && strings.Contains(text, `script="calls"`) &&
			strings.Contains(text, `script="wait"`) && strings.Contains(text, "openat") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %d\n%s", code, text)
		}
	}
}

func TestBoundsAreWhatItHas(t *testing.T) {
	for _, unit := range units {
		a, b := capabilities(t, unit, "AmbientCapabilities"), capabilities(t, unit,
			"CapabilityBoundingSet")
		if !slices.Equal(a, b) {
			t.Errorf("%s: got %v, bounded by %v", unit, a, b)
		}
	}
}

// systemd reads the unit without a warning, and rates it as well restricted.
func TestSystemdTakesTheUnit(t *testing.T) {
	testkit.Requires(t, testkit.SystemdAnalyze)
	for _, unit := range units {
		t.Run(unit, func(t *testing.T) {
			text, err := os.ReadFile("../../packaging/systemd/" + unit + ".service")
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), unit+".service")
			// systemd-analyze verify checks that the program exists.
			text = []byte(strings.Replace(string(text), "/usr/bin/ppscript", "/bin/true", 1))
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
			// 0 is completely restricted, 10 is not restricted; a service that runs
			// as root has 9.6.
			out, err = exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold=30",
				path).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// An agent that is started as by its unit runs the requested profilers.
func TestAgent(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	path := program(t)
	hub := testkit.StartFor(t, time.Minute, path, "hub", "--listen", "127.0.0.1:0")
	hub.WaitStderr("\n")
	url := regexp.MustCompile(`nats://\S+`).FindString(hub.Stderr())
	cmd := service(t, agentUnit, path, "agent", "--hub", url, "--name", "unit")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if out := testkit.Run(t, path, "fleet", "hosts", "--hub", url); strings.Contains(out.Stdout,
			"unit ") {
			break
		}
	}
	out := testkit.Run(t, path, "fleet", "run", "--hub", url, "--duration", "500ms", "syscalls",
		"--format", "json")
	tables := testkit.Tables(t, out.Stdout)
	if out.Exit != 0 || len(tables) != 1 || len(tables[0].Rows) == 0 {
		t.Errorf("got %d, %s %s", out.Exit, out.Stdout, out.Stderr)
	}
}
