package session

import (
	"errors"
	"os"
	"strings"
	"testing"

	"ppscript/bpf"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/plan"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/workload"
	"ppscript/tests/testkit"
)

// umask counts calls that nobody else makes: 230, by the test's own program.
func umask() *plan.Source {
	s := tracepoint("raw_syscalls:sys_enter")
	s.Filter = "id == 95"
	return s
}

// refused runs reports whose programs have no end, which no kernel takes.
func refused(t *testing.T, engine string,
	reports ...plan.Report) (lines []map[string]any, said string, err error) {
	t.Helper()
	t.Setenv("SESSION_TEST_TARGET", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spoiled := 0
	cfg := Config{Reports: reports, Target: perf.Target{Workload: &workload.Command{Args: []string{self}}},
		Options:  Options{Reading: Reading{Engine: engine}, Verbose: 1},
		Messages: func(line string) { said += line + "\n" },
		spoil: func(im *bpf.Image) {
			p := &im.Programs[0]
			p.Ins = p.Ins[:len(p.Ins)-1]
			spoiled++
		}}
	lines, _, err = runJSON(t, cfg)
	if spoiled == 0 {
		t.Errorf("engine %s: got no programs, want some that are refused; said %s", engine, said)
	}
	return lines, said, err
}

// If the kernel refuses a program, its work is done here, with a note; if there
// must be programs, it is an error. Both show the verifier's reason.
func TestRefusedPrograms(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	const reason = "last insn is not an exit or jmp"
	last := func() *plan.Group {
		return &plan.Group{In: umask(), Aggs: []plan.AggCol{{Name: "count", Agg: agg.Agg{Op: agg.Count}},
			{Name: "last", Agg: agg.Agg{Op: agg.List}, Arg: &plan.Fn{Text: "id"}}}}
	}
	f := func(name string, report func() *plan.Group, note string) {
		t.Helper()
		lines, said, err := refused(t, placement.EngineAuto, report())
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, said)
		}
		if rows := rowsOf(t, lines); len(rows) != 1 || rows[0]["count"].(float64) != 230 {
			t.Errorf("%s: got %v, want 230 calls", name, rows)
		}
		if !strings.Contains(said, note) || !strings.Contains(said, reason) {
			t.Errorf("%s: said %q, want %q and %q", name, said, note, reason)
		}
		_, said, err = refused(t, placement.EngineBPF, report())
		var rejected *load.Rejected
		if !errors.As(err, &rejected) || !strings.Contains(said, reason) {
			t.Errorf("%s, engine bpf: got %v and %q, want an error with %q", name, err, said, reason)
		}
	}
	f("counted", func() *plan.Group { return count(umask()) }, "the kernel refused the plan's programs")
	f("sent", func() *plan.Group {
		// Which filters cannot express, so that programs send the events.
		g := last()
		g.In = &plan.Where{In: g.In, Pred: plan.Fn{Text: "id * 2 == 190"}}
		return g
	}, "it sends whole records")

	clock := &plan.Source{Spec: eventspec.Spec{
		Kind: eventspec.Software, Name: "cpu-clock", Sampling: eventspec.Sampling{Period: 1000000},
	}}
	busy := &plan.Where{In: clock, Pred: plan.Fn{Text: "nr_running >= 1"}}
	_, said, err := refused(t, placement.EngineAuto, &plan.Log{In: busy})
	var rejected *load.Rejected
	if !errors.As(err, &rejected) || !strings.Contains(said, reason) {
		t.Errorf("samples: got %v and %q, want an error with %q", err, said, reason)
	}
}
