package oracle

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// This file runs scripts and the tools with the same names at the same time, on the same
// commands. docs/tools.md has the whole list, and says whose rows are compared.

// bcc is the directory in which Debian's package libbpf-tools has the tools of bcc that need
// neither Python nor the kernel's headers.
const bcc = "/usr/sbin/"

// namesakes are scripts with the tools of bpftrace and bcc that this kernel can run. The commands have
// their texts as arguments, so that they are in memory when the kernel, and with it a tool, reads them.
var namesakes = []testkit.Namesake{
	{Script: typed("execsnoop"), Tool: typed("execsnoop.bt"), Columns: "PID ARGS",
		Command: []string{"echo", "one", "two  three", "four"}},
	// All files except the libraries of cat, because their names may not be in memory
	// for the tool.
	{Script: typed("opensnoop"), Tool: typed("opensnoop.bt"), Columns: "PID COMM FD ERR PATH",
		Command: files("cat"), Path: typed("/nonexistent /etc/passwd")},
	// The tool has no column FD.
	{Script: typed("statsnoop"), Tool: typed("statsnoop.bt"), Columns: "PID COMM ERR PATH",
		Command: files("stat"), Path: typed("/nonexistent /etc/passwd")},
	{Script: typed("killsnoop"), Tool: typed("killsnoop.bt"), Columns: "PID COMM SIG TPID RESULT",
		Command: signals},
	// The tool has the whole name of its probe.
	{Script: typed("syncsnoop"), Tool: typed("syncsnoop.bt"), Columns: "PID COMM EVENT",
		Command: typed("sync --data /etc/passwd"), Alike: func(line string) string {
			return strings.Replace(line, "tracepoint:syscalls:sys_enter_", "", 1)
		}},
	// Each tool measures its own time.
	{Script: typed("gethostlatency"), Tool: typed("gethostlatency.bt"), Columns: "PID COMM HOST",
		Command: lookup},
	// The tool supports fewer of the calls.
	{Script: typed("setuids"), Tool: typed("setuids.bt"), Columns: "PID COMM UID SYSCALL ARGS",
		Command: typed("{load} -rare 1"), Path: typed("uid=")},
	{Script: typed("execsnoop"), Tool: typed(bcc + "execsnoop"), Columns: "PCOMM PID PPID RET",
		Command: typed("echo one")},
	{Script: typed("opensnoop"), Tool: typed(bcc + "opensnoop"), Columns: "PID COMM FD ERR PATH",
		Command: files("cat"), Path: typed("/nonexistent /etc/passwd")},
	{Script: typed("opensnoop -x"), Tool: typed(bcc + "opensnoop -x"), Columns: "PID COMM FD ERR PATH",
		Command: files("cat"), Path: typed("/nonexistent /etc/passwd")},
	{Script: typed("killsnoop -x"), Tool: typed(bcc + "killsnoop -x"), Columns: "PID COMM SIG TPID RESULT",
		Command: signals},
	{Script: typed("gethostlatency"), Tool: typed(bcc + "gethostlatency"), Columns: "PID COMM HOST",
		Command: lookup},
	{Script: typed("exitsnoop"), Tool: typed(bcc + "exitsnoop"), Columns: "PCOMM PID PPID TID EXIT_CODE",
		Command: typed("true")},
	{Script: typed("exitsnoop -x"), Tool: typed(bcc + "exitsnoop -x"), Columns: "PCOMM PID PPID TID EXIT_CODE",
		Command: []string{"sh", "-c", "exit 3"}},
	// The command has a mount namespace of its own.
	{Script: typed("mountsnoop"), Tool: typed(bcc + "mountsnoop"),
		Columns: "COMM PID TID MNT_NS CALL SOURCE TARGET TYPE RET",
		Command: typed("unshare --mount --propagation private mount -n -i -t tmpfs mine /mnt"),
		Alike:   mountCall, Header: "COMM PID TID MNT_NS CALL SOURCE TARGET TYPE RET"},
	{Script: typed("tcplife"), Tool: typed(bcc + "tcplife"),
		Columns: "PID COMM LADDR LPORT RADDR RPORT",
		Command: connection},
	{Script: typed("tcplife -D {port}"), Tool: typed(bcc + "tcplife -D {port}"),
		Columns: "PID COMM LADDR LPORT RADDR RPORT", Command: connection},
	{Script: typed("tcpstates"), Tool: typed(bcc + "tcpstates"),
		Columns: "SKADDR PID COMM LADDR LPORT RADDR RPORT OLDSTATE NEWSTATE", Command: connection},
	{Script: typed("tcpstates -D {port}"), Tool: typed(bcc + "tcpstates -D {port}"),
		Columns: "SKADDR PID COMM LADDR LPORT RADDR RPORT OLDSTATE NEWSTATE", Command: connection},
	{Script: typed("opensnoop -U"), Tool: typed(bcc + "opensnoop -U"), Columns: "UID PID COMM FD ERR PATH",
		Command: files("cat"), Path: typed("/nonexistent /etc/passwd")},
	{Script: typed("opensnoop -n cat"), Tool: typed(bcc + "opensnoop -n cat"), Columns: "PID COMM FD ERR PATH",
		Command: files("cat"), Path: typed("/nonexistent /etc/passwd")},
	{Script: typed("killsnoop -n"), Tool: typed(bcc + "killsnoop -n"), Columns: "PID COMM SIG TPID RESULT",
		Command: signals},
	{Script: typed("execsnoop -U"), Tool: typed(bcc + "execsnoop -U"), Columns: "UID PCOMM PID PPID RET",
		Command: typed("echo one")},
}

var (
	signals = []string{"sh", "-c", "kill -CONT $$; kill -CONT 4194304 2>/dev/null; kill -URG $$"}
	lookup  = typed("getent ahosts 127.0.0.7")
	// connection is made to a port that accepts it.
	connection = []string{"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/{port}; printf %5000d 1 >&3"}
)

func typed(text string) []string { return strings.Fields(text) }

// files is a command that reads a file, and tries to read two that do not
// exist.
func files(command string) []string {
	return []string{command, "/nonexistent/a", "/etc/passwd", "/nonexistent/b"}
}

// mountCall has the parts of mount("SOURCE", "TARGET", "TYPE", FLAGS, "DATA") = RESULT as fields.
func mountCall(line string) string {
	return mountParts.ReplaceAllString(line, "$1 $2 $3 $4 $5")
}

var mountParts = regexp.MustCompile(`(mount)\("(.*?)", "(.*?)", "(.*?)", .*\) = (-?\d+)`)

// Script and tool print the same rows for a command, while both observe the whole
// machine.
func TestRowsEqualNamesakes(t *testing.T) {
	live(t, testkit.Bpftrace, testkit.BTF, testkit.Long)
	accepting := listen(t)
	for _, n := range namesakes {
		t.Run(strings.Join(n.Script, " ")+" "+n.Tool[0], func(t *testing.T) {
			tool, err := exec.LookPath(n.Tool[0])
			if err != nil {
				t.Skipf("%s is neither of bpftrace's tools here nor of libbpf-tools'", n.Tool[0])
			}
			replace := strings.NewReplacer("{port}", accepting, "{load}", testkit.Load(t))
			for _, words := range []*[]string{&n.Script, &n.Tool, &n.Command} {
				*words = slices.Clone(*words)
				for i, w := range *words {
					(*words)[i] = replace.Replace(w)
				}
			}
			testkit.Again(t, func() []string { return compare(t, &n, tool, n.Command) })
		})
	}
}

// listen opens a port whose connections are accepted and read to their ends.
func listen(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	_, port = split(t, l.Addr())
	return port
}

func compare(t *testing.T, n *testkit.Namesake, tool string, command []string) (wrong []string) {
	t.Helper()
	theirs := testkit.Start(t, n.LineBuffered(tool)...)
	defer theirs.Stop()
	run := func() int {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Run() // it may end with an error, because of the missing files
		return cmd.Process.Pid
	}
	// knows waits until a command that begins after the call is known.
	knows := func(p *testkit.Process, what string, known func(pid int) bool) {
		var begun []int
		looks := 0
		p.Await(what, func(string) bool {
			if looks++; looks%50 == 1 {
				begun = append(begun, run())
			}
			return slices.ContainsFunc(begun, known)
		})
	}
	// The tool is there before the script: its programs may hide events from perf, and then programs of the
	// script take them.
	knows(theirs, "the tool tells of a command",
		func(pid int) bool { return len(n.Theirs(theirs.Stdout(), pid)) > 0 })
	ours := testkit.Start(t, append([]string{testkit.PPScript(t)}, n.Script...)...)
	defer ours.Stop()
	both := func(pid int) (mine, other []string) {
		return n.Ours(ours.Stdout(), pid), n.Theirs(theirs.Stdout(), pid)
	}
	told := func(what string) {
		knows(ours, "both tell of "+what,
			func(pid int) bool { mine, other := both(pid); return len(mine) > 0 && len(other) > 0 })
	}
	told("a command")
	pid := run()
	told("the command behind it")
	mine, other := both(pid)
	if len(mine) == 0 {
		return []string{fmt.Sprintf("%s: no rows of process %d", n.Script[0], pid)}
	}
	if !slices.Equal(mine, other) {
		return []string{fmt.Sprintf("%s:\n%s\n%s:\n%s", n.Script[0], strings.Join(mine, "\n"), n.Tool[0],
			strings.Join(other, "\n"))}
	}
	return nil
}

// TCP tools report connections with known ends, bytes and process.
func TestRowsOfKnownConnections(t *testing.T) {
	live(t, testkit.BTF)
	const sent, received = 5000, 3000
	for _, network := range []string{"tcp4", "tcp6"} {
		t.Run(network, func(t *testing.T) {
			own := map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"}
			l, err := net.Listen(network, own[network])
			if err != nil {
				t.Skipf("no %s here: %v", network, err)
			}
			defer l.Close()
			tools := map[string]*testkit.Process{}
			for _, name := range []string{"tcpconnect", "tcpaccept", "tcplife"} {
				tools[name] = testkit.Start(t, testkit.PPScript(t), name)
				defer tools[name].Stop()
			}
			// rowsOf returns the rows of the connection from our port to the listener's port.
			address, port := split(t, l.Addr())
			version := network[3:]
			pid := strconv.Itoa(os.Getpid())
			want := func(from string) map[string]string {
				return map[string]string{
					"tcpconnect": strings.Join([]string{version, address, address, port}, " "),
					"tcpaccept":  strings.Join([]string{version, address, from, address, port}, " "),
					"tcplife":    strings.Join([]string{address, from, address, port, "4", "2"}, " "),
				}
			}
			// From some moment on all runs observe; then each of them reports the same
			// connections.
			tell := func(from string) bool {
				for name, row := range want(from) {
					if !hasRow(tools[name].Stdout(), pid, row) {
						return false
					}
				}
				return true
			}
			var made []string
			looks := 0
			tools["tcplife"].Await("all tell of a connection", func(string) bool {
				if looks++; looks%50 == 1 {
					made = append(made, connect(t, l, sent, received))
				}
				return slices.ContainsFunc(made, tell)
			})
		})
	}
}

// hasRow reports whether a row is about a process, and has these fields after PID and
// COMM.
func hasRow(text, pid, row string) bool {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 2 && f[0] == pid && strings.HasPrefix(strings.Join(f[2:], " ")+" ", row+" ") {
			return true
		}
	}
	return false
}

// split returns the host and the port of an address.
func split(t *testing.T, a net.Addr) (address, port string) {
	t.Helper()
	address, port, err := net.SplitHostPort(a.String())
	if err != nil {
		t.Fatal(err)
	}
	return address, port
}

// connect makes a connection, sends and receives bytes on it, and closes it; it returns the port of
// the side that connected.
func connect(t *testing.T, l net.Listener, sent, received int) (port string) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		if _, err = io.ReadFull(c, make([]byte, sent)); err == nil {
			_, err = c.Write(make([]byte, received))
		}
		// The other side closes first.
		if _, last := c.Read(make([]byte, 1)); err == nil && last != io.EOF {
			err = last
		}
		done <- err
	}()
	c, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, port = split(t, c.LocalAddr())
	if _, err = c.Write(make([]byte, sent)); err == nil {
		_, err = io.ReadFull(c, make([]byte, received))
	}
	c.Close()
	if err = errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	return port
}
