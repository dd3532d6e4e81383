package load

import (
	"errors"
	"fmt"
	"strings"

	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
)

// SayFailures tells the user about the first failed evaluation of each operator. Programs count
// failed evaluations without the reason; for these the message names the events and the expressions
// that can fail.
func SayFailures(x *flow.Failures, failed uint64, runs []*Run, say func(format string, args ...any)) {
	told := false
	x.Errors(func(where string, errs *flow.Errors) {
		if errors.Is(errs.First, agg.ErrElsewhere) {
			return
		}
		told = true
		say("%s: an evaluation failed, and left its event out: %v", where, errs.First)
	})
	if failed == 0 || told {
		return
	}
	var of []string
	for _, r := range runs {
		if lines, err := failures(r); err == nil {
			of = append(of, lines...)
		}
	}
	text := fmt.Sprintf("%d evaluations failed in the kernel, and left their events out", failed)
	if len(of) > 0 {
		text += ": " + strings.Join(of, "; ")
	}
	say("%s; --engine perf says why the first one did", text)
}

// failures returns the failures of the programs of a run, one a line.
func failures(r *Run) (lines []string, err error) {
	n := r.im.stats()
	for i := range r.im.Programs {
		p := &r.im.Programs[i]
		if p.Event < 0 || r.maps[StatsMap.Of(p.Event)] == nil {
			continue
		}
		failed := make([]uint64, n)
		err := r.words(StatsMap.Of(p.Event)).each(func(_ int, values []uint64) {
			for k, v := range values {
				failed[k%n] += v
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read failures: %w", err)
		}
		if n := failed[StatErrors]; n > 0 {
			lines = append(lines, fmt.Sprintf("%d of %s, in its filters, joins and folds", n, p.Label))
		}
		for _, t := range r.im.Tables {
			if n := failed[t.StatErrors()]; n > 0 {
				lines = append(lines, fmt.Sprintf("%d of %s, in the keys and values of %s%s", n, p.Label,
					t.Name, doubtful(t.Spec)))
			}
		}
	}
	return lines, nil
}

// doubtful says which parts of a group's functions can fail, and how: the first few.
func doubtful(spec *agg.Spec) string {
	var of []string
	look := func(fn *flow.Fn) {
		if fn == nil {
			return
		}
		fn.Each(func(p *expr.Program) {
			expr.Walk(p.Node, func(n expr.Node) bool {
				if why := expr.Fails(n); why != "" && len(of) < mostDoubtful {
					of = append(of, fmt.Sprintf("%s (%s)", plain.Replace(n.String()), why))
				}
				return true
			})
		})
	}
	for _, fn := range spec.Keys {
		look(fn)
	}
	for i := range spec.Args {
		look(spec.Args[i].Fn)
		look(spec.Args[i].Where)
		look(spec.Args[i].Rank)
	}
	if len(of) == 0 {
		return ""
	}
	return ", where these can fail: " + strings.Join(of, ", ")
}

const mostDoubtful = 3

// plain writes checked operators in the form that the script has.
var plain = strings.NewReplacer(" +c ", " + ", " -c ", " - ", " *c ", " * ", " &c ", " & ", " |c ", " | ",
	" ^c ", " ^ ", " <<c ", " << ", " >>c ", " >> ")
