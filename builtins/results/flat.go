package results

import (
	"errors"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// flat declares stacks.flat.
func flat() *b.Builtin {
	return &b.Builtin{
		Name:    "flat",
		Type:    "stacks",
		Group:   b.Results,
		Summary: "Shows where samples were taken as a table, without callers: by file, by function, or by keys.",
		Params: []b.Param{
			{Name: "by", Type: b.ListOf(b.String), Required: true, Doc: "dso (the file), symbol (the function), and keys of the stacks"},
		},
		Returns: "stacks",
		Result:  "a table of share, samples, their value, and a column for each key, the heaviest row first. Only the innermost functions of stacks count: take .stack(max = 1). A function without a name is its file",
		Errors:  "no such key; by is empty; the stacks were counted with above =",
		Source:  computed,
		Cost:    "none for events",
		Examples: []b.Example{
			{Code: "sample(freq = 99).stack(max = 1).stacks(\"period\", by = [\"comm\"]).flat([\"comm\", \"dso\"])", Output: "<flat profile by comm, dso>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := *c.Receiver.(*Stacks).Report
			if s.Above != nil || s.OnTop != nil {
				return nil, errors.New("a flat profile is of one stack: count without above =")
			}
			known := []string{result.FlatDSO, result.FlatSymbol}
			if s.By == nil {
				known = append(known, "comm")
			}
			for _, v := range s.By {
				known = append(known, v.Name)
			}
			s.Flat = []string{}
			for _, v := range c.List("by") {
				name, _ := starlark.AsString(v)
				if !slices.Contains(known, name) {
					return nil, c.Errorf("by", "%s: no such key%s; use one of: %s", name,
						diag.DidYouMean(name, known), strings.Join(known, ", "))
				}
				if slices.Contains(s.Flat, name) {
					return nil, c.Errorf("by", "%s: got it twice, want each key once", name)
				}
				s.Flat = append(s.Flat, name)
			}
			if len(s.Flat) == 0 {
				return nil, c.Errorf("by", "got no key, want at least one of: %s", strings.Join(known, ", "))
			}
			return &Stacks{&s}, nil
		},
	}
}
