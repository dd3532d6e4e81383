package session

import (
	"errors"
	"fmt"
	"strings"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

// This file detects a run without a result because all evaluations of per-event functions
// failed, which is an error. A run without a result because nothing happened is not an error. If
// only some evaluations fail, they are counted in the losses of the results.

// outputWatch records whether the renderer got anything to show.
type outputWatch struct {
	render.Renderer
	any   bool
	zeros bool // only rows of zeros were shown, which may be right
}

// Show implements render.Renderer.
func (s *outputWatch) Show(r result.Result) error {
	switch r := r.(type) {
	case *result.Table:
		s.any = s.any || r.Histogram() >= 0
		s.look(r)
	case *result.Heatmap: // shown in files only
	default:
		s.any = true
	}
	return s.Renderer.Show(r)
}

// look records whether a table has values. A row whose values are all 0 does not prove that
// anything was counted.
func (s *outputWatch) look(t *result.Table) {
	for _, row := range t.Rows {
		s.zeros = true
		for i, v := range row {
			s.any = s.any || v.Bool() && t.Columns[i].Kind == result.ValueColumn
		}
	}
}

// settled tells the user which evaluations failed. It returns an error if nothing is
// left to show.
func (r *run) settled() error {
	failed := r.account.total.Errors
	failures := r.instance.Failures()
	if failed == 0 || r.results.watch.any ||
		(r.results.watch.zeros || r.results.deliveries.elsewhere()) && failed < r.samples() {
		load.SayFailures(failures, failed, r.programs(), r.env.msgs.say)
		return nil
	}
	err := diag.Errorf(diag.Run, "run", "", "%d evaluations failed, and nothing is left to show", failed)
	err.Hint = "leave these events out before, for example with where(), or have the expression be right for them"
	var first error
	failures.Errors(func(_ string, errs *flow.Errors) {
		if first == nil && !errors.Is(errs.First, agg.ErrElsewhere) {
			first = errs.First
		}
	})
	of := ""
	if list := r.plan.Failing(); len(list) == 1 {
		of = ", of " + list[0]
	} else if len(list) > 1 {
		of = ", of one of these: " + strings.Join(list, "; ")
	}
	if first == nil {
		load.SayFailures(failures, failed, r.programs(), r.env.msgs.say)
		err.Cause = fmt.Errorf("%w%s", err.Cause, of)
		return err
	}
	err.Cause = fmt.Errorf("%w; the first one: %w%s", err.Cause, first, of)
	if d, ok := errors.AsType[*diag.Error](first); ok {
		err.Pos, err.Excerpt, err.Hint = d.Pos, d.Excerpt, d.Hint
		plain := *d
		plain.Pos = ""
		err.Cause = fmt.Errorf("%d evaluations failed, and nothing is left to show; the first one: %w",
			failed, &plain)
	}
	return err
}
