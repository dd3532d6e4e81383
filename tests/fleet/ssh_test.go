package fleet_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// shellHosts are hosts that OpenSSH's server makes reachable: names for addresses of this machine,
// each with a home and a directory for temporary files of its own.
type shellHosts struct {
	t     *testing.T
	dir   string
	names []string
	port  string
}

// mostListen is the largest number of addresses at which one OpenSSH server can listen:
// MAX_LISTEN_SOCKS.
const mostListen = 16

func startShellHosts(t *testing.T, n int) *shellHosts {
	t.Helper()
	testkit.Requires(t, append(slices.Clone(testkit.Live), testkit.SSHServer, testkit.SSH)...)
	testkit.PPScript(t) // built now, so that no timeout includes the build
	h := &shellHosts{t: t, dir: testkit.Open(t)}
	_, h.port, _ = net.SplitHostPort(freePort(t))
	for _, name := range []string{"host", "user"} {
		testkit.Run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", h.path(name)).Want(t, 0)
	}
	for _, dir := range []string{"home", "tmp", "bin"} {
		if err := os.Mkdir(h.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // directory of the server's unprivileged process
		t.Fatal(err)
	}
	h.write("home/.bashrc", "echo welcome to this host\n") // bash reads this file, if it is the login shell
	for i := range n {
		h.names = append(h.names, fmt.Sprintf("127.0.0.%d", i+1))
	}
	for some := range slices.Chunk(h.names, mostListen) {
		config := h.path("sshd-" + some[0])
		h.write(filepath.Base(config), "Port "+h.port+
			"\nListenAddress "+strings.Join(some, "\nListenAddress ")+
			"\nHostKey "+h.path("host")+"\nAuthorizedKeysFile "+h.path("user.pub")+
			"\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"+
			"MaxStartups 100\nPrintMotd no\nSetEnv HOME="+h.path("home")+" TMPDIR="+h.path("tmp")+
			" PATH="+h.path("bin")+":/usr/bin:/bin:/usr/sbin:/sbin\n")
		p := testkit.StartFor(t, 2*time.Minute, "/usr/sbin/sshd", "-D", "-e", "-f", config)
		p.WaitStderr("Server listening on " + some[0] + " ")
	}
	h.write("config", "Host *\nPort "+h.port+"\nIdentityFile "+h.path("user")+"\nIdentitiesOnly yes\n"+
		"IdentityAgent none\nUserKnownHostsFile "+h.path("known")+
		"\nStrictHostKeyChecking no\nLogLevel ERROR\n")
	h.write("count.star", script)
	h.write("source.star", strings.ReplaceAll(source, "GETPPID", getppid()))
	h.hosts(h.names...)
	return h
}

func (h *shellHosts) path(name string) string { return filepath.Join(h.dir, name) }

func (h *shellHosts) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *shellHosts) hosts(lines ...string) { h.write("hosts", strings.Join(lines, "\n")+"\n") }

// ask begins a run about a process.
func (h *shellHosts) ask(target *testkit.Target, options ...string) *testkit.Process {
	return testkit.StartFor(h.t, 2*time.Minute, slices.Concat([]string{testkit.PPScript(h.t), "fleet", "run",
		"--ssh", h.path("hosts"), "--ssh-config", h.path("config"), "-i", "500ms", "--budget",
		"off"}, options,
		[]string{h.path("count.star"), "--of", strconv.Itoa(target.PID()), "--format", "json"})...)
}

// copies returns the processes that run copies of the program on the hosts.
func (h *shellHosts) copies() (list []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		exe, _ := os.Readlink(dir + "/exe") // the process may have ended
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.HasPrefix(exe, h.dir) {
			list = append(list, pid)
		}
	}
	return list
}

// wantNothing waits until no process and no file is left on the hosts, and
// fails the test if some stay.
func (h *shellHosts) wantNothing() {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left, err := filepath.Glob(h.path("tmp") + "/*")
		if err != nil {
			h.t.Fatal(err)
		}
		running := h.copies()
		if len(left)+len(running) == 0 {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("left behind: files %v, processes %v", left, running)
		}
	}
}

// counts returns how often each host saw the call, or all hosts together.
func counts(t *testing.T, stdout string) map[string]int64 {
	t.Helper()
	by := map[string]int64{}
	for _, table := range testkit.Tables(t, stdout) {
		for _, row := range table.Rows {
			by[row.Text(t, "host")] += row.Int(t, "count")
		}
	}
	return by
}

// Twenty hosts with nothing installed, all connected at the same time, count each call. A host that
// does not answer is named with ssh's message, and a host without the label is not asked. Nothing
// is left on the hosts.
func TestHostsBySSH(t *testing.T) {
	const hosts, calls = 20, 2000
	h := startShellHosts(t, hosts)
	var lines []string
	for _, name := range h.names {
		lines = append(lines, name+" role=db rack=r7 # a host")
	}
	h.hosts(append(lines, "", "127.0.0.99 role=db", "127.0.0.98 role=web")...)
	target := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	run := h.ask(target, "--by", "host", "-l", "role=db", "--late", "10s")
	run.WaitStderr(fmt.Sprintf("runs on %d hosts", hosts))
	run.WaitStderr("127.0.0.99: ssh: connect to host 127.0.0.99 port " + h.port + ": Connection refused")
	told := fmt.Sprintf(`"told":%d,"of":%d,"missing":["127.0.0.99"]`, hosts, hosts+1)
	run.WaitStdout(told)
	target.Do()
	seen := strings.Count(run.Stdout(), told)
	run.Await("two more windows of all", func(out string) bool { return strings.Count(out, told) > seen+1 })
	run.Signal(syscall.SIGINT)
	out := run.Wait()
	by := counts(t, out.Stdout)
	for _, name := range h.names {
		if by[name] != calls {
			t.Errorf("%s: got %d calls, want %d: %s", name, by[name], calls, out.Stderr)
		}
	}
	if strings.Contains(out.Stderr, "127.0.0.98") {
		t.Errorf("a host without the label is asked: %s", out.Stderr)
	}
	h.wantNothing()
}

// The host of a connection that breaks is named, and the others go on. When the asker is killed,
// nothing is left on the hosts.
func TestHostsBySSHThatBreakLeaveNothing(t *testing.T) {
	t.Parallel()
	h := startShellHosts(t, 2)
	target := testkit.StartTarget(t, "-getppid", "1")
	run := h.ask(target)
	run.WaitStdout(`"told":2`)
	if n := len(h.copies()); n != 4 { // on each host one process that listens, and one that observes
		t.Errorf("got %d processes of copies, want 4", n)
	}
	for _, pid := range children(run.PID()) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(line), h.names[1]) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	run.WaitStderr(h.names[1] + " ended: ")
	run.WaitStdout(`"told":1,"of":2,"missing":["` + h.names[1] + `"]`)
	run.Signal(syscall.SIGKILL)
	h.wantNothing()
}

// children returns the pids of the children of a process.
func children(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // of a thread that ended
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// A copy that is kept is named by its hash and used again, but not if it was changed. sudo can
// start it. A host of another architecture is an error with a hint, and so is a file that is no
// program for this host.
func TestCopiesOnHosts(t *testing.T) {
	t.Parallel()
	h := startShellHosts(t, 1)
	target := testkit.StartTarget(t, "-getppid", "1")
	once := func(want string, options ...string) {
		t.Helper()
		out := h.ask(target, append(options, "--duration", "1s")...).Wait()
		if !strings.Contains(out.Stdout+out.Stderr, want) {
			t.Errorf("%v: got %s%s, want %q", options, out.Stdout, out.Stderr, want)
		}
		h.wantNothing()
	}
	program, err := os.ReadFile(testkit.PPScript(t))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(program)
	kept := h.path("home/.cache/ppscript/fleet/" + hex.EncodeToString(sum[:]))
	stat := func() syscall.Stat_t {
		t.Helper()
		var s syscall.Stat_t
		if err := syscall.Stat(kept, &s); err != nil {
			t.Fatalf("%s: %v", kept, err)
		}
		return s
	}
	once(`"told":1,"of":1`, "--ssh-keep")
	first := stat()
	if first.Mode&0o777 != 0o700 {
		t.Errorf("got mode %o of the copy, want 700", first.Mode&0o777)
	}
	once(`"told":1,"of":1`)
	if again := stat(); again.Ino != first.Ino || again.Mtim != first.Mtim {
		t.Error("a copy that was kept is made again")
	}
	if err := errors.Join(os.Remove(kept), // the kernel refuses to write to a running program
		os.WriteFile(kept, []byte("#!/bin/sh\necho hostile\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	once(`"told":1,"of":1`, "--ssh-keep")
	if have, err := os.ReadFile(kept); err != nil || sha256.Sum256(have) != sum {
		t.Errorf("a copy that was changed is left as it is: %v", err)
	}

	h.program("sudo", "printf \"%s \" \"$@\" >>"+h.path("sudo.log")+"\nshift\nexec \"$@\"\n")
	once(`"told":1,"of":1`, "--ssh-sudo")
	log, err := os.ReadFile(h.path("sudo.log"))
	if err != nil || !strings.HasPrefix(string(log), "-n "+kept) {
		t.Errorf("sudo got %q, %v", log, err)
	}

	machine := map[string]string{"amd64": "aarch64", "arm64": "x86_64"}[arch()]
	h.program("uname", "if [ $1 = -m ]; then echo "+machine+"; else exec /usr/bin/uname \"$@\"; fi\n")
	once("GOARCH=")
	once("no host can be asked")
	once("it is no program for Linux", "--ssh-program", h.path("hosts"))
	h.program("uname", "echo FreeBSD\n")
	once("it runs FreeBSD, not Linux")
}

// program installs a program where the host finds it before others.
func (h *shellHosts) program(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(h.path("bin/"+name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		h.t.Fatal(err)
	}
}
