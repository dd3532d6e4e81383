package host

import (
	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

func userString() *b.Builtin {
	return &b.Builtin{
		Name:    expr.UserText,
		Group:   b.Hosted,
		Summary: "The text at an address of the process that an event happened in.",
		Params: []b.Param{
			{Name: "address", Type: b.Or(b.As(address, "int"), b.String), Required: true,
				Doc: "a field of the event such as e.filename of syscalls:sys_enter_openat, or computed from its fields; a text is returned as it is"},
			{Name: "instead", Type: b.String, Doc: "the result if no program in the kernel can read the text: with --engine perf, in recordings and in functions that stay interpreted; without it, that is an error"},
		},
		Returns: "string",
		Result: "the bytes up to the NUL, at the moment of the event: of more than 255 the first 252 and ...; empty for the address 0; " +
			event.UserTextFault +
			" if nothing could be read. This happens if its page is not in memory, such as a constant of a process that has just started, because a program in the kernel cannot wait for it. " +
			"At the entry of a system call, such a text is read when the call returns, if that is within 0.1 s. " +
			"If programs group the events, or the pairs of entry and return, these wait for the return, however long it takes; " +
			"if the call has not returned when the run ends, the event is unmatched",
		Errors: "called outside per-event functions, or in one that stays interpreted (name it with let() before); no program runs, and there is no instead",
		Source: "bpf_probe_read_user_str, in a program in the kernel; Linux 5.10, root or CAP_BPF and CAP_PERFMON",
		Cost:   "0.1 us of the observed thread; in a ring 16 bytes more than the text has",
		Examples: []b.Example{
			{Code: `tracepoint("syscalls:sys_enter_openat").by(file = lambda e: user_string(e.filename)).count()`, Output: "<table of file, count>"},
			{Code: `tracepoint("syscalls:sys_enter_openat").where("user_string(filename) ~ \"/etc/*\"").by("comm").count()`, Output: "<table of comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if text, ok := c.Value("address").(starlark.String); ok {
				return text, nil
			}
			if zero, ok := c.Value("address").(starlark.Int); ok && zero.Sign() == 0 {
				return starlark.String(""), nil
			}
			if c.Has("instead") {
				return starlark.String(c.String("instead")), nil
			}
			return nil, diag.Errorf(diag.Run, expr.UserText, "",
				"only a function of the event that is compiled can ask for it").
				WithHint("name it with let() before a function that stays interpreted: .let(file = \"user_string(filename)\")")
		},
		Native: &frontend.Native{Returns: frontend.TextKind, Compile: compileUserText},
	}
}

// compileUserText compiles a call of user_string. If the argument is a string
// already, the result is the argument.
func compileUserText(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
	var instead *expr.Const
	if c.Len() == 2 {
		text, ok := c.Const(1).(starlark.String)
		if !ok {
			return v, false
		}
		instead = expr.NewStr(string(text)).(*expr.Const)
	}
	switch {
	case c.Len() < 1 || c.Len() > 2:
		return v, false
	case c.Text(0):
		return c.Arg(0)
	case !c.Int(0) || c.Unit(0) != event.NoUnit:
		return v, false
	}
	return c.Of(expr.NewUserText(c.Node(0), instead))
}
