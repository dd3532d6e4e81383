package pipeline

import (
	"fmt"

	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// Reports returns the results in the value that a script's main returned: one
// result, or a list of results, in which None is ignored. With streams, as for
// a program after -c, a stream is shown as a log; else it is an error.
func Reports(v starlark.Value, streams bool) ([]plan.Report, error) {
	list, err := reports(v, streams)
	if err == nil && len(list) == 0 {
		got := "an empty " + v.Type()
		if v == starlark.None {
			got = "None"
		}
		err = diag.Errorf(diag.Run, "result", "", "got %s, want at least one result", got).
			WithHint(resultHint)
	}
	return list, err
}

// ReportsOrStreams is Reports with streams set.
func ReportsOrStreams(v starlark.Value) ([]plan.Report, error) { return Reports(v, true) }

func reports(v starlark.Value, streams bool) ([]plan.Report, error) {
	switch v := v.(type) {
	case results.Reporter:
		return []plan.Report{v.Plan()}, nil
	case starlark.NoneType:
		return nil, nil
	case *Stream:
		if !streams {
			return nil, noResult("got a stream")
		}
		return []plan.Report{&plan.Log{In: v.S, Pairs: v.Pairs}}, nil
	case *groups:
		return nil, noResult("got groups without anything to compute")
	case starlark.String:
		return []plan.Report{&plan.Text{Text: string(v)}}, nil
	case starlark.Indexable:
		var all []plan.Report
		for i := range v.Len() {
			r, err := reports(v.Index(i), streams)
			if err != nil {
				return nil, err
			}
			all = append(all, r...)
		}
		return all, nil
	}
	return nil, noResult("got %s", v.Type())
}

func noResult(format string, args ...any) error {
	return diag.Errorf(diag.Run, "result", "", "%w, which is not a result", fmt.Errorf(format, args...)).
		WithHint(resultHint)
}

const resultHint = `end with a result, for example stream.log() or stream.by("comm").count()`
