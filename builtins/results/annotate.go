package results

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/runtime/stack/listing"

	"go.starlark.net/starlark"
)

// annotate declares stacks.annotate.
func annotate() *b.Builtin {
	return &b.Builtin{
		Name:    "annotate",
		Type:    "stacks",
		Group:   b.Results,
		Summary: "Shows the code of one function beside its samples, by instruction or by line of the source.",
		Params: []b.Param{
			{Name: "function", Type: b.String, Default: starlark.String(""), Doc: "its name, or a pattern with * and ?; else the function with most samples"},
			{Name: "by", Type: b.OneOf("instruction", "line"), Default: starlark.String("instruction"), Named: true, Doc: "what a row is"},
			{Name: "sources", Type: b.ListOf(b.String), Named: true, Doc: "directories with source files, which are searched before the paths in the debug information"},
			{Name: "context", Type: b.Int, Named: true, Unit: "rows", Doc: "shown around each row with samples; else all"},
		},
		Returns: "stacks",
		Result:  "a table of share, samples, their value, address, code, line (FILE:NUMBER) and source; shares are of the function. Only the innermost functions of stacks count: take .stack(max = 1)",
		Errors:  "no sample was taken in the function (when the result is shown); the stacks were counted with above =",
		Source:  "the program's file; /proc/kcore for the kernel; lines from its debug information",
		Cost:    "none for events; the debug information is read when the result is shown",
		Examples: []b.Example{
			{Code: "sample(freq = 999).stack(max = 1).stacks(by = []).annotate(\"main\")", Output: "<annotated code>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			code := &listing.Choice{Function: c.String("function"), Context: -1}
			code.Lines = c.String("by") == "line"
			for _, v := range c.List("sources") {
				dir, _ := starlark.AsString(v)
				code.Sources = append(code.Sources, dir)
			}
			if c.Has("context") {
				if code.Context = int(c.Int("context")); code.Context < 0 {
					return nil, c.Errorf("context", "got %d, want 0 or more", code.Context)
				}
			}
			s := *c.Receiver.(*Stacks).Report
			if s.Above != nil || s.OnTop != nil {
				return nil, errors.New("only a count of single stacks can be annotated: leave out above =")
			}
			s.Code = code
			return &Stacks{&s}, nil
		},
	}
}
