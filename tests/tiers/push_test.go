package tiers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// predicates are conditions, with a number to add up over the events that they
// select. The first group is for all system calls, the second for all switches.
var predicates = []struct {
	event, sum string
	in         []string
}{
	{"raw_syscalls:sys_enter", "id", []string{
		`"id == 110"`,
		`"id != 110 && id < 200"`,
		`"id > 200 || id == 110"`,
		`"id >= -1"`,
		`"id < 0"`,
		`"id & 2"`,
		`"!(id == 110)"`,
		`lambda e: e.id == 110`,
		`lambda e: e.id != 110 and e.id > 3`,
		`lambda e: e.id in (0, 1, 110, 257)`,
		`lambda e: not (e.id == 110 or e.id < 20)`,
		`lambda e: e.id & 0x60`,
		`chosen`,
	}},
	{"sched:sched_switch", "prev_prio", []string{
		`"prev_comm == \"load-0\""`,
		`"prev_comm != \"load-0\" && next_comm == \"load-0\""`,
		`"prev_comm ~ \"lo*-?\""`,
		`"next_comm ~ \"*oad*\""`,
		`"prev_prio < 120"`,
		`"next_pid > 0 && prev_state == 0"`,
		`"prev_state & 0x3"`,
		`lambda e: e.prev_comm.startswith("load")`,
		`lambda e: e.prev_comm.endswith("-0") and e.next_pid != 0`,
		`lambda e: "oad" in e.next_comm`,
		`lambda e: e.prev_comm == "load-0" and e.prev_prio in (100, 120)`,
		`lambda e: e.next_prio - 100 > 0 and e.prev_pid > 0`,
	}},
}

// TestPushedAndNativeSelectTheSame applies each predicate to the events of one
// run twice: as a condition of the stream, which goes into the kernel's filter
// as far as that can express it, and as a condition of the aggregators, which
// is evaluated natively for each event. Programs must give the same tables,
// whether they compute or send.
func TestPushedAndNativeSelectTheSame(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	var b strings.Builder
	b.WriteString(
		"def chosen(e):\n    if e.id < 100:\n        return False\n    return e.id == 110 or e.id > 230\n\ndef main(o):\n    return [\n")
	n := 0
	for _, p := range predicates {
		for _, pred := range p.in {
			fmt.Fprintf(&b, "        tracepoint(%q).where(%s).agg(n = agg.count(), sum = agg.sum(%q)),\n",
				p.event, pred, p.sum)
			fmt.Fprintf(&b,
				"        tracepoint(%q).agg(n = agg.count(where = %s), sum = agg.sum(%q, where = %s)),\n",
				p.event, pred, p.sum, pred)
			n++
		}
	}
	b.WriteString("    ]\n")
	file := filepath.Join(t.TempDir(), "push.star")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	explained := testkit.Run(t, testkit.PPScript(t), "explain", file, "--engine", "perf").Want(t, 0).Stdout
	if got := strings.Count(explained, "filter, in the kernel"); got < n-1 {
		t.Errorf(
			"got %d filters in the kernel, want one for each of %d predicates but id & 0x60 at most:\n%s",
			got, n, explained)
	}
	for _, engine := range []string{"perf", "bpf"} {
		t.Run(engine, func(t *testing.T) { selectSame(t, engine, file, n) })
	}
}

func selectSame(t *testing.T, engine, file string, n int) {
	out := testkit.Run(t, testkit.PPScript(t), file, "--engine", engine, "--format", "json",
		"-m", "1024", "--",
		testkit.Load(t), "-getppid", "300", "-switch", "40", "-fail", "20", "-sleep", "10").Want(t, 0)
	tables := testkit.Tables(t, out.Stdout)
	if len(tables) != 2*n {
		t.Fatalf("got %d tables, want %d\n%s", len(tables), 2*n, out.Stderr)
	}
	for _, table := range tables {
		if table.Loss["lost"] > 0 {
			t.Fatalf("%d events were lost: nothing can be compared", table.Loss["lost"])
		}
	}
	some := 0
	for _, p := range predicates {
		for _, pred := range p.in {
			kernel, native := tables[0].Rows[0], tables[1].Rows[0]
			tables = tables[2:]
			kn, nn := kernel.Int(t, "n"), native.Int(t, "n")
			if kn != nn || kernel.Int(t, "sum") != native.Int(t, "sum") {
				t.Errorf("%s where %s: the kernel selects %d events with sum %d, we %d with sum %d",
					p.event, pred, kn, kernel.Int(t, "sum"), nn, native.Int(t, "sum"))
			}
			if kn > 0 {
				some++
			}
		}
	}
	if some < n-3 {
		t.Errorf("only %d of %d predicates selected anything", some, n)
	}
}
