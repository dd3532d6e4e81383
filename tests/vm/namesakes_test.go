package vm

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// This file runs scripts beside the tools of their names that need kprobes, as tests/oracle
// TestRowsEqualNamesakes does with the others on this machine. The guest has the kernel that Debian's
// libbpf-tools of that age were made for.

func words(text string) []string { return strings.Fields(text) }

// guestNamesakes are run one after the other; the guest's busybox has the commands.
var guestNamesakes = []testkit.Namesake{
	// The script has the port that was asked for, 0, the tool the one that the kernel chose.
	{Script: words("bindsnoop"), Tool: words("bindsnoop"), Columns: "PID COMM RET PROTO OPTS IF ADDR",
		Command: words("load -rare 2")},
	{Script: words("capable"), Tool: words("capable"), Columns: "PID COMM CAP NAME",
		Command: words("load -rare 2")},
	{Script: words("filelife"), Tool: words("filelife"), Columns: "PID COMM FILE",
		Command: []string{"sh", "-c", "echo >short; exec rm short"}},
	{Script: words("solisten"), Tool: words("solisten"), Columns: "PID COMM RET BACKLOG PROTO PORT ADDR",
		Command: []string{"sh", "-c", "(sleep 0.3; nc 127.0.0.1 5001 </dev/null) & exec nc -l -p 5001"}},
	{Script: words("tcpconnect"), Tool: words("tcpconnect"), Columns: "PID COMM IP SADDR DADDR DPORT",
		Command: words("nc 127.0.0.1 9")},
	{Script: words("tcpstates"), Tool: words("tcpstates"),
		Columns: "SKADDR PID COMM LADDR LPORT RADDR RPORT OLDSTATE NEWSTATE",
		Command: words("nc 127.0.0.1 9")},
	{Script: words("oomkill"), Tool: words("oomkill"), Columns: "PID COMM VPID VICTIM",
		Command: []string{"sh", "-c",
			"echo $$ >/cg/small/cgroup.procs; exec dd if=/dev/zero of=/dev/null bs=64M count=1"},
		Header: "PID COMM VPID VICTIM", Alike: func(line string) string {
			return killed.ReplaceAllString(line, "$1 $2 $3 $4")
		}},
}

var killed = regexp.MustCompile(`.* Triggered by PID (\d+) \("(.*)"\), OOM kill of PID (\d+) \("(.*)"\).*`)

// namesakesScript runs both until each tells of a command, then the command that is compared, and the first
// one again: what each told of the compared command is complete then.
const namesakesScript = `
mkdir -p /cg; mount -t cgroup2 none /cg; echo +memory >/cg/cgroup.subtree_control; mkdir /cg/small
echo 16M >/cg/small/memory.max
# beside NAME SCRIPT TOOL COMMAND...
beside() {
	name=$1 ours=$2 theirs=$3
	shift 3
	ppscript $ours >ours 2>&1 & a=$!
	_STDBUF_O=L LD_PRELOAD=/w/libstdbuf.so $theirs >theirs 2>&1 & b=$!
	both "$@"
	"$@" >/dev/null 2>&1 & compared=$!
	wait $compared
	both "$@"
	kill -INT $a $b
	wait $a $b
	echo "BEGIN $name"
	echo "PID $compared"
	echo "OURS"; cat ours
	echo "THEIRS"; cat theirs
}
# both COMMAND...: runs it until both have told of one of its processes.
both() {
	pids= n=0
	while [ $n -lt 60 ]; do
		n=$((n + 1))
		"$@" >/dev/null 2>&1 & last=$!
		wait $last
		pids="$pids|$last"
		sleep 0.3
		known="(^|[^0-9])(${pids#|})([^0-9]|$)"
		grep -qE "$known" ours && grep -qE "$known" theirs && return
	done
}
`

// Both tell the same of a command, row by row.
func TestRowsEqualNamesakesInGuest(t *testing.T) {
	t.Parallel()
	const buffers, tools = "/usr/libexec/coreutils/libstdbuf.so", "/usr/sbin/"
	if _, err := os.Stat(buffers); err != nil {
		t.Skipf("no %s", buffers)
	}
	files := map[string]string{
		"/w/ppscript":     build(t, "amd64", "cmd/ppscript"),
		"/w/load":         build(t, "amd64", "tests/testkit/load"),
		"/w/libstdbuf.so": buffers,
	}
	script := namesakesScript
	for i, n := range guestNamesakes {
		tool := n.Tool[0]
		if _, err := os.Stat(tools + tool); err != nil {
			t.Skipf("no %s%s: install libbpf-tools", tools, tool)
		}
		files["/w/bcc-"+tool] = tools + tool
		script += fmt.Sprintf("beside %d %s %s", i, quoted(strings.Join(n.Script, " ")),
			quoted("bcc-"+strings.Join(n.Tool, " ")))
		for _, word := range n.Command {
			script += " " + quoted(word)
		}
		script += "\n"
	}
	guest := Guest{Kernel: "6.1", MemoryMiB: 1024, Files: files, Timeout: 5 * time.Minute}
	r := Run(t, guest, script)
	all := parts(r.Output)
	for i, n := range guestNamesakes {
		t.Run(strings.Join(n.Script, " "), func(t *testing.T) {
			text := all[strconv.Itoa(i)]
			head, told, _ := strings.Cut(text, "\nOURS\n")
			ours, theirs, _ := strings.Cut(told, "THEIRS\n")
			pid, err := strconv.Atoi(strings.TrimPrefix(head, "PID "))
			if err != nil {
				t.Fatalf("got %s, want what both told", text)
			}
			got, want := n.Ours(ours, pid), n.Theirs(theirs, pid)
			if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("process %d: got\n%s\nwant\n%s\nof\n%s", pid, strings.Join(got, "\n"),
					strings.Join(want, "\n"), text)
			}
		})
	}
}

// quoted is a word of the shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
