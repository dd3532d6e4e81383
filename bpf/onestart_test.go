package bpf

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
)

// TestProgramsCountFromOneMoment checks that programs that are attached count nothing before the
// run begins and nothing when it has ended: of calls before, within and behind it the counts are
// those within, also with weights.
func TestProgramsCountFromOneMoment(t *testing.T) {
	h, fs := live(t)
	const before, within = 300, 500
	parts := map[string]func() *Part{
		"count":   func() *Part { return countByID(t, fs) },
		"latency": func() *Part { return latencyByID(t, fs, basic...) },
	}
	for name, part := range parts {
		for _, weighed := range []bool{false, true} {
			p := part()
			p.Weighed = weighed
			im, err := Generate(p, h, &Target{PIDs: []int{os.Getpid()}})
			if err != nil {
				t.Fatal(err)
			}
			run, err := load.Open(&im.Image)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, logOf(err))
			}
			step := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(errors.Join(err, run.Close()))
				}
			}
			step(run.Attach(im.Target))
			calls(before)
			step(load.Begin(run))
			calls(within)
			step(load.End(run))
			calls(before)
			step(run.Stop())
			calls(before) // programs are detached later
			g := agg.New(*im.Tables[0].Spec)
			step(run.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { g.AddPartial(p) }))
			var hits uint64
			for _, row := range g.Rows() {
				if row[0].Int() == unix.SYS_GETPPID {
					hits = uint64(row[1].Int())
				}
			}
			loss, err := run.Loss()
			step(err)
			if hits+loss.Joins.Lost < within || hits > within {
				t.Errorf("%s, weighed %v: got %d calls and %d lost, want %d",
					name, weighed, hits, loss.Joins.Lost, within)
			}
			step(run.Close())
		}
	}
}
