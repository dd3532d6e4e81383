package host

import (
	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

func comm() *b.Builtin {
	return &b.Builtin{
		Name:    "comm",
		Group:   b.Hosted,
		Summary: "The name of a thread.",
		Params:  []b.Param{{Name: "tid", Type: b.Int, Required: true, Doc: "its id"}},
		Returns: "string",
		Result:  "the name that it has when the event is processed; <...> if it is not known",
		Errors:  "called outside per-event functions",
		Source:  "comm records of the run, else /proc",
		Cost:    "10 ns; 2 us for a thread seen first",
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_waking").by(waker = "comm", woken = lambda e: comm(e.pid)).count()`, Output: "<table of waker, woken, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := frontend.ServicesOf(c.Thread)
			if s == nil || s.Comm == nil {
				return nil, outside("comm")
			}
			return starlark.String(s.Comm(int32(c.Int("tid")))), nil
		},
		Native: &frontend.Native{
			Returns: frontend.TextKind,
			Compile: func(c *frontend.NativeCall) (frontend.NativeValue, bool) {
				find := c.Services().Comm
				if c.Len() != 1 || !c.Plain(0) || find == nil {
					return frontend.NativeValue{}, false
				}
				return c.Of(expr.NewCommOf(c.Node(0), find))
			},
		},
	}
}
