package oracle

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// A countedQuestion is a script of the library with the kernel's own counter of the same
// events.
type countedQuestion struct {
	name   string
	args   []string
	rows   func(r testkit.Row) int64 // number of the counter's events in a row; 0 for other rows
	kernel func(t *testing.T) int64
	pairs  bool // it counts intervals with a begin and an end
}

// The counts of system-wide scripts lie between two differences of the kernel's counters: from
// after the script's begin to before its stop, and from before its start to after its end. On some
// hosts the kernel silently runs no BPF program while a thread of the host's own agent has the CPU:
// bpftrace then misses the same events, ftrace counts all. So a measurement that lacks events is
// repeated.
func TestQuestionsEqualCounters(t *testing.T) {
	live(t, testkit.AMD64)
	column := func(name, key, value string) func(r testkit.Row) int64 {
		return func(r testkit.Row) int64 {
			if key != "" && r[key] != value && r[key+"_text"] != value {
				return 0
			}
			return r.Int(t, name)
		}
	}
	questions := []countedQuestion{
		{"softirqs", nil, column("runs", "kind", "TIMER"), lines("/proc/softirqs", "TIMER:"), true},
		{"softirqs", nil, column("runs", "kind", "NET_RX"), lines("/proc/softirqs", "NET_RX:"), true},
		{"hardirqs", nil, column("count", "name", "local_timer"), lines("/proc/interrupts", "LOC:"), true},
		{"forks", []string{"--rows", "100000"}, func(r testkit.Row) int64 {
			if r["processes"] == nil { // the table of processes that ended
				return 0
			}
			return r.Int(t, "processes") + r.Int(t, "threads")
		}, lines("/proc/stat", "processes "), false},
		{"skbdrop", []string{"--rows", "100000"}, func(r testkit.Row) int64 {
			if !strings.Contains(fmt.Sprint(r["location"], r["location_text"]), "__udp4_lib_rcv") {
				return 0
			}
			return r.Int(t, "count")
		}, portless, false},
	}
	if idle := idleStays(t); idle > 0 && moves(t, idleStays) {
		questions = append(questions,
			countedQuestion{"idlestates", nil, column("count", "", ""), idleStays, true})
	} else {
		t.Logf("idlestates: the kernel's counter stands still at %d, and says nothing", idle)
	}
	testkit.Again(t, func() (wrong []string) {
		before := make([]int64, len(questions))
		var running []*testkit.Process
		for i, q := range questions {
			before[i] = q.kernel(t)
			running = append(running, testkit.Start(t, append([]string{testkit.PPScript(t), q.name,
				"--format", "json", "-v"}, q.args...)...))
		}
		for _, p := range running {
			p.WaitStderr(" open event")
		}
		begun := make([]int64, len(questions))
		for i, q := range questions {
			begun[i] = q.kernel(t)
		}
		somethingOfEach(t)
		for i, q := range questions {
			least := q.kernel(t) - begun[i]
			tables := testkit.Tables(t, running[i].Stop().Want(t, 0).Stdout)
			most := q.kernel(t) - before[i]
			got, lost := int64(0), int64(0)
			for _, table := range tables {
				for _, r := range table.Rows {
					got += q.rows(r)
				}
				lost += table.Loss["lost"]
				if q.pairs {
					lost += table.Loss["unmatched"] + table.Loss["broken"]
				}
			}
			t.Logf("%s: %d and %d lost, of %d to %d", q.name, got, lost, least, most)
			if least < 5 && q.name != "idlestates" || got+lost < least || got > most {
				wrong = append(wrong, fmt.Sprintf("%s: got %d and %d lost, want %d to %d, and 5 at least",
					q.name, got, lost, least, most))
			}
		}
		return wrong
	})
}

// moves reports whether a counter of idle CPUs counts: this thread sleeps until it changes.
func moves(t *testing.T, counter func(t *testing.T) int64) bool {
	t.Helper()
	before := counter(t)
	for range 100 {
		time.Sleep(2 * time.Millisecond)
		if counter(t) > before {
			return true
		}
	}
	return false
}

// somethingOfEach causes some events for each question.
func somethingOfEach(t *testing.T) {
	t.Helper()
	l := testkit.StartTarget(t, "-exec", "8", "-sleep", "200")
	l.Do()
	closed, err := net.Dial("udp", "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer closed.Close()
	for range 50 {
		_, _ = closed.Write([]byte("nobody listens")) // an error reports the failure of the previous packet
		time.Sleep(2 * time.Millisecond)
	}
	l.End()
}

// lines adds up the numbers in the line of a file with this prefix.
func lines(file, begin string) func(t *testing.T) int64 {
	return func(t *testing.T) (sum int64) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), begin); ok {
				for _, word := range strings.Fields(rest) {
					if n, err := strconv.ParseInt(word, 10, 64); err == nil {
						sum += n
					}
				}
			}
		}
		return sum
	}
}

// portless returns how many UDP packets came to ports without a socket.
func portless(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/net/snmp")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "Udp:" {
			continue
		}
		if at := slices.Index(names, "NoPorts"); at >= 0 && at < len(words) {
			n, err := strconv.ParseInt(words[at], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		names = words
	}
	t.Fatal("/proc/net/snmp has no NoPorts of UDP")
	return 0
}

// idleStays returns how often CPUs were idle, in all states.
func idleStays(t *testing.T) (sum int64) {
	t.Helper()
	files, err := filepath.Glob("/sys/devices/system/cpu/cpu*/cpuidle/state*/usage")
	if err != nil || len(files) == 0 {
		return 0
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// Of two threads that compute on one CPU, one waits.
func TestOneOfTwoWaits(t *testing.T) {
	live(t, testkit.AMD64, testkit.BTF, testkit.CPU1)
	a, b := testkit.StartTarget(t, "-spin", "400"), testkit.StartTarget(t, "-spin", "400")
	var running []*testkit.Process
	for _, name := range []string{"runqlen", "cpuunclaimed"} {
		running = append(running, testkit.Start(t, testkit.PPScript(t), name, "--format", "json", "-v"))
	}
	for _, p := range running {
		p.WaitStderr(" open event")
	}
	stop := a.Work()
	b.Do()
	stop()
	queues := testkit.Tables(t, running[0].Stop().Want(t, 0).Stdout)[0]
	for _, r := range queues.Rows {
		// 0.8 s at 99 Hz, minus the time of other work on the machine.
		if r.Int(t, "cpu") == 0 && (r.Int(t, "samples") < 40 || r.Int(t, "max") < 1 || r["queued"] == nil) {
			t.Errorf("got %v, want a thread that waits", r)
		}
	}
	all := testkit.Tables(t, running[1].Stop().Want(t, 0).Stdout)[0]
	if len(queues.Rows) < 2 || len(all.Rows) != 1 || all.Rows[0].Int(t, "waiting") < 20 ||
		all.Rows[0].Int(t, "busy") < 40 {
		t.Errorf("got %v and %v, want two threads on a CPU", queues.Rows, all.Rows)
	}
	a.End()
	b.End()
}
