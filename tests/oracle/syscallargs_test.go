package oracle

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A whole line of perf trace: begin and duration in ms, tid, call, arguments,
// result.
var perfCall = regexp.MustCompile(`(?m)^ +(\d+\.\d+) \( *(\d+\.\d+) ms\): .*?/(\d+) (\w+)\((.*)\) *= (.*)$`)

// arguments splits "name: value, name: value".
func arguments(text string) map[string]string {
	args := map[string]string{}
	for _, a := range strings.Split(text, ", ") {
		if name, value, ok := strings.Cut(a, ": "); ok {
			args[name] = value
		}
	}
	return args
}

var word = regexp.MustCompile(`^[A-Z_]`)

// sameArgument compares a value of perf trace with ppscript's. ppscript may
// show words for perf's number; for texts perf shows the lower half of the
// address.
func sameArgument(perf, ours string) (same, compared bool) {
	if perf == "" || perf[0] == '(' || strings.HasPrefix(ours, "0o") {
		return true, false // flags that perf lacks, ioctls in parts, modes in words
	}
	perf, _, _ = strings.Cut(perf, " (") // the name behind a pid
	if word.MatchString(perf) {
		theirs := strings.Split(strings.TrimPrefix(perf, "MADV_"), "|")
		mine := strings.Split(ours, "|")
		for _, w := range theirs {
			if word.MatchString(w) && !slices.Contains(mine, w) {
				return false, true
			}
		}
		return true, true
	}
	if word.MatchString(ours) {
		return true, false
	}
	a, err := strconv.ParseInt(perf, 0, 64)
	b, err2 := strconv.ParseUint(strings.TrimPrefix(ours, "-"), 0, 64)
	n := int64(b)
	if strings.HasPrefix(ours, "-") {
		n = -n
	}
	return err == nil && err2 == nil && uint32(a) == uint32(n), true
}

// begun is a call in ppscript's output.
type begun struct {
	at, took int64 // ns, from the first event
	ret      int64
	err      string
	args     map[string]string
	taken    bool // matched with a call of perf
}

// sameEnd compares durations and results of a call: perf shows -1 and the error,
// or a number followed by its meaning; flags are words. It has no names for
// errors that only the kernel uses, and no parent of an unknown process.
func (b *begun) sameEnd(t *testing.T, ms, returned string) bool {
	t.Helper()
	took, err := strconv.ParseFloat(ms, 64)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(b.took)/1e6-took) > 0.0011 {
		return false
	}
	value, more, _ := strings.Cut(returned, " ")
	if value == "-1" && b.ret < 0 {
		name, _, _ := strings.Cut(more, " ")
		return b.err == name || b.ret <= -512 && name == "(unknown)"
	}
	if value == "" || word.MatchString(value) {
		return b.ret >= 0 && b.err == ""
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(value, "-"), 0, 64)
	if strings.HasPrefix(value, "-") {
		n = -n
	}
	return err == nil && int64(n) == b.ret && b.err == ""
}

// next returns the call that began at a time that perf rounds to 1 us. A fast machine
// makes several in that time, and perf shows one of them later if another thread's
// call came in between. It is the call with the same arguments, if there is one,
// otherwise the first.
func next(calls []begun, at int64, args map[string]string) *begun {
	var first *begun
	for i := range calls {
		c := &calls[i]
		if c.taken || max(c.at-at, at-c.at) > 1000 {
			continue
		}
		if first == nil {
			first = c
		}
		if c.has(args) {
			first = c
			break
		}
	}
	if first != nil {
		first.taken = true
	}
	return first
}

// has reports whether all arguments that perf shows equal those of the call.
func (b *begun) has(args map[string]string) bool {
	for name, value := range args {
		if same, _ := sameArgument(value, b.args[name]); !same {
			return false
		}
	}
	return true
}

// Every call equals one that perf trace shows for the same recording, with
// arguments by the kernel's names, duration and result.
func TestSyscallsEqualPerfTrace(t *testing.T) {
	live(t, testkit.Perf)
	file := filepath.Join(t.TempDir(), "perf.data")
	// A shell, coreutils and a Go program: files, pipes, children, memory, signals, futexes.
	testkit.Run(t, "perf", "trace", "record", "-m", "4096", "-o", file, "--", "sh", "-c",
		fmt.Sprintf("ls -l / >/dev/null; cat /etc/passwd | head -c 10; d=$(mktemp -d); cp /etc/passwd $d/x; rm -r $d; kill -0 $$; %s -sleep 5 -fail 3",
			testkit.Load(t))).Want(t, 0)
	type call struct {
		tid  int
		name string
	}
	ours := map[call][]begun{}
	out := testkit.Run(t, testkit.PPScript(t), "--input", file, "syscall-trace", "--format", "json").
		Want(t, 0)
	first := perfScript(t, file)[0].time
	for _, e := range testkit.Events(t, out.Stdout) {
		text, end, _ := strings.Cut(strings.TrimPrefix(e.Text, "call="), ") ret=")
		name, args, ok := strings.Cut(text, "(")
		if !ok {
			t.Fatalf("got %q, want a call", e.Text)
		}
		took := decimal(t, between(e.Text, "took=", " "))
		ret, _, _ := strings.Cut(end, " ")
		k := call{e.TID, name}
		ours[k] = append(ours[k], begun{
			e.Time - took - first, took, decimal(t, ret), between(e.Text, "error=", " "),
			arguments(args), false,
		})
	}
	calls, compared, failed, kinds := 0, 0, 0, map[string]bool{}
	for _, m := range perfCall.FindAllStringSubmatch(testkit.Run(t, "perf", "trace", "-i", file).Stderr, -1) {
		ms, _ := strconv.ParseFloat(m[1], 64)
		tid, _ := strconv.Atoi(m[3])
		args := arguments(m[5])
		c := next(ours[call{tid, m[4]}], int64(ms*1e6), args)
		if c == nil {
			t.Errorf("got no %s of %d at %s ms", m[4], tid, m[1])
			continue
		}
		if !c.sameEnd(t, m[2], m[6]) {
			t.Errorf("%s at %s ms: got %d %s after %d ns, perf trace shows %q after %s ms", m[4], m[1], c.ret,
				c.err, c.took, m[6], m[2])
		}
		calls++
		if c.err != "" {
			failed++
		}
		kinds[m[4]] = true
		for name, value := range args {
			if m[4] == "fcntl" && name == "arg" {
				continue // perf 6.1 shows FD_CLOEXEC inverted
			}
			mine, ok := c.args[name]
			same, counts := sameArgument(value, mine)
			if !ok || !same {
				t.Errorf("%s at %s ms: %s: got %q, perf trace shows %q", m[4], m[1], name, mine, value)
			}
			if counts {
				compared++
			}
		}
	}
	t.Logf("compared %d arguments of %d calls, %d kinds, %d failed", compared, calls, len(kinds), failed)
	if calls < 200 || compared < 300 || len(kinds) < 25 || failed < 3 {
		t.Errorf("compared %d arguments of %d calls, %d kinds, %d failed; want more", compared, calls,
			len(kinds), failed)
	}
}

// Addresses that calls return are shown in the same form as arguments: a program unmaps
// addresses that it has mapped, and a break that is set is returned.
func TestReturnedAddresses(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "syscall-trace", "--", "ls", "/").Want(t, 0).Stdout
	mapped := map[string]bool{}
	for _, m := range regexp.MustCompile(`mmap\(.*\) = (\S+) \(`).FindAllStringSubmatch(out, -1) {
		mapped[m[1]] = true
	}
	unmapped := regexp.MustCompile(`munmap\(addr: (\S+),`).FindAllStringSubmatch(out, -1)
	breaks := regexp.MustCompile(`brk\(brk: (0x[0-9a-f]{2,})\) = (\S+) \(`).FindAllStringSubmatch(out, -1)
	if len(unmapped) == 0 || len(breaks) == 0 {
		t.Fatalf("got %s, want calls of munmap and brk", out)
	}
	for _, m := range unmapped {
		if !mapped[m[1]] {
			t.Errorf("got no mmap that returned %s, which was unmapped", m[1])
		}
	}
	for _, m := range breaks {
		if m[1] != m[2] {
			t.Errorf("brk(%s): got %s, want the same", m[1], m[2])
		}
	}
}
