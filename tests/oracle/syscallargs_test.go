package oracle

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A whole line of perf trace: begin in ms, tid, call, arguments.
var perfCall = regexp.MustCompile(`(?m)^ +(\d+\.\d+) \( *\d+\.\d+ ms\): .*?/(\d+) (\w+)\((.*)\) *= `)

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

// sameArgument compares a value of perf trace with ours. What perf shows as a
// number may be words for us; of texts it shows the lower half of the address.
func sameArgument(perf, ours string) (same, compared bool) {
	if perf == "" || perf[0] == '(' || strings.HasPrefix(ours, "0o") {
		return true, false // flags that perf does not know, ioctls in parts, modes in words
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

// begun is a call of ours.
type begun struct {
	at   int64 // ns from the first event
	args map[string]string
}

// nearest is the call that began at a time that perf rounds to 1 us.
func nearest(calls []begun, at int64) *begun {
	var best *begun
	for i := range calls {
		if d := max(calls[i].at-at, at-calls[i].at); d <= 1000 && (best == nil || d < max(best.at-at, at-best.at)) {
			best = &calls[i]
		}
	}
	return best
}

// The arguments of every call are those that perf trace shows of the same
// recording, by the kernel's names.
func TestSyscallArgumentsEqualPerfTrace(t *testing.T) {
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
	out := testkit.Run(t, testkit.PPScript(t), "--input", file, "syscall-trace", "--format", "json").Want(t, 0)
	first := perfScript(t, file)[0].time
	for _, e := range testkit.Events(t, out.Stdout) {
		text, _, _ := strings.Cut(strings.TrimPrefix(e.Text, "call="), ") ret=")
		name, args, ok := strings.Cut(text, "(")
		if !ok {
			t.Fatalf("got %q, want a call", e.Text)
		}
		took := decimal(t, between(e.Text, "took=", " "))
		k := call{e.TID, name}
		ours[k] = append(ours[k], begun{e.Time - took - first, arguments(args)})
	}
	calls, compared, kinds := 0, 0, map[string]bool{}
	for _, m := range perfCall.FindAllStringSubmatch(testkit.Run(t, "perf", "trace", "-i", file).Stderr, -1) {
		ms, _ := strconv.ParseFloat(m[1], 64)
		tid, _ := strconv.Atoi(m[2])
		c := nearest(ours[call{tid, m[3]}], int64(ms*1e6))
		if c == nil {
			t.Errorf("got no %s of %d at %s ms", m[3], tid, m[1])
			continue
		}
		calls++
		kinds[m[3]] = true
		for name, value := range arguments(m[4]) {
			if m[3] == "fcntl" && name == "arg" {
				continue // perf 6.1 has FD_CLOEXEC the wrong way round
			}
			mine, ok := c.args[name]
			same, counts := sameArgument(value, mine)
			if !ok || !same {
				t.Errorf("%s at %s ms: %s: got %q, perf trace shows %q", m[3], m[1], name, mine, value)
			}
			if counts {
				compared++
			}
		}
	}
	t.Logf("compared %d arguments of %d calls, %d kinds", compared, calls, len(kinds))
	if calls < 200 || compared < 300 || len(kinds) < 25 {
		t.Errorf("compared %d arguments of %d calls, %d kinds; want more", compared, calls, len(kinds))
	}
}
