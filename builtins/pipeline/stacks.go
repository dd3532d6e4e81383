package pipeline

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/stack"

	"go.starlark.net/starlark"
)

// defaultStackBytes is the default number of bytes of the user stack that are
// copied for unwinding.
const defaultStackBytes = 8 << 10

// stackBuiltins declares the methods of streams about call stacks, and burst.
func stackBuiltins() []*b.Builtin { return []*b.Builtin{withStack(), countStacks(), burst()} }

func withStack() *b.Builtin {
	return &b.Builtin{
		Name:    "stack",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Takes the call stack of each event.",
		Params: []b.Param{
			{Name: "kernel", Type: b.Bool, Default: starlark.True, Named: true, Doc: "the part in the kernel"},
			{Name: "user", Type: b.Bool, Default: starlark.True, Named: true, Doc: "the part in user code"},
			{Name: "max", Type: b.Int, Default: starlark.MakeInt(127), Named: true, Unit: "frames", Doc: "frames to take; deeper stacks are cut, and marked"},
			{Name: "unwind", Type: b.OneOf("fp", "dwarf", "auto"), Default: starlark.String("fp"), Named: true,
				Doc: "how user code is unwound: by frame pointers, by unwind tables (also where there are no frame pointers), by both"},
			{Name: "copy", Type: b.Size, Default: b.Text("8 KiB"), Named: true, Doc: "size of the copy of the user stack that ppscript unwinds. If it is given, programs in the kernel do not unwind"},
		},
		Returns: "stream",
		Result:  "the events; .log() shows the frames below each line, .stacks() counts by stack, and the field stack is a key",
		Errors:  "neither kernel nor user; events that ppscript makes, such as pairs. An event of a fold has the stack of the event for which it was emitted",
		Source:  "perf_event_open: PERF_SAMPLE_CALLCHAIN, REGS_USER, STACK_USER; any kernel; programs in the kernel read unwind tables from 5.17 on (amd64)",
		Cost:    "1 to 4 us per event for the traced program; with unwind tables 0.2 us more per frame in programs, else a copy of the stack, 10 us and 9 KiB of ring",
		Examples: []b.Example{
			{Code: sw + `s.stack(user = False).log()`, Output: "<log>"},
			{Code: sw + `s.stack().by("stack").count().top(10)`, Output: "<table of stack, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			spec := stack.Choice{
				Kernel:    c.Bool("kernel"),
				User:      c.Bool("user"),
				Unwind:    c.String("unwind"),
				UserBytes: defaultStackBytes,
				Show:      true,
			}
			if !spec.Kernel && !spec.User {
				return nil, c.Error("user", errors.New("neither kernel nor user is wanted"),
					"leave one of them")
			}
			if n := c.Int("max"); n < 1 || n > 127 {
				return nil, c.Errorf("max", "got %d, want 1 to 127", n)
			}
			if c.Has("max") {
				spec.Max = int(c.Int("max"))
			}
			if c.Has("copy") {
				n := c.Size("copy")
				if n < 1<<10 || n > 60<<10 {
					return nil, c.Error("copy", errors.New("want 1 KiB to 60 KiB"), "write copy = 16 * KiB")
				}
				spec.UserBytes, spec.Copies = int(n)&^7, true
			}
			return with(c, &plan.WithStack{In: in(c), Spec: spec}), nil
		},
	}
}

func countStacks() *b.Builtin {
	return &b.Builtin{
		Name:    "stacks",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Counts the events by call stack.",
		Params: []b.Param{
			{Name: "value", Type: b.Expression, Doc: "an integer to add up for each stack: bytes, a time"},
			{Name: "by", Type: b.Or(b.ListOf(b.Expression), b.Dict), Named: true, Doc: "further keys besides the stack, as a list or as {name: expression}; by default the name of the thread"},
			{Name: "stack", Type: b.Expression, Named: true, Doc: "another stack than the event's own: start.stack of a pair, or a field stack or NAME_stack that a fold emits"},
			{Name: "above", Type: b.Expression, Named: true, Doc: "a second stack, shown above the first and a frame --, with its outermost function last: end.stack of a pair, for the thread that woke a sleeper"},
			{Name: "on_top", Type: b.Expression, Named: true, Doc: "a text that is shown as a function above all others: end._comm of a pair, the name of the thread that woke a sleeper"},
			{Name: "name", Type: b.String, Named: true, Doc: "name of the value; by default its expression"},
		},
		Returns: "stacks",
		Result:  "a block for each stack, largest value or count first; equal stacks of several processes are one; --flame-graph and --pprof write it to files",
		Errors:  runtimeE,
		Source:  "as stream.stack; names from kallsyms, ELF, perf maps, once for each address",
		Cost: "100 ns per event; 350 bytes for each stack. Names are looked up when the result is shown, and after every 8192 new stacks. " +
			"From then on, stacks with equal names are one, of 200 bytes, and the 65536 heaviest are kept",
		Examples: []b.Example{
			{Code: `sample(freq = 99).stack().stacks().top(10)`, Output: "<stacks by comm>"},
			{Code: `tracepoint("kmem:kmalloc").stack(user = False).stacks("bytes_alloc", by = [])`, Output: "<stacks, adding up bytes_alloc>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := &plan.Stacks{In: in(c), Name: "value"}
			var err error
			if s.Value, err = arg(c, "value"); err != nil {
				return nil, err
			}
			if s.Stack, err = arg(c, "stack"); err != nil {
				return nil, err
			}
			if s.Above, err = arg(c, "above"); err != nil {
				return nil, err
			}
			if s.OnTop, err = arg(c, "on_top"); err != nil {
				return nil, err
			}
			if s.Value != nil && s.Value.Text != "" {
				s.Name = s.Value.Text
			}
			if c.Has("name") {
				s.Name = c.String("name")
			}
			if c.Has("by") {
				if s.By, err = stackKeys(c); err != nil {
					return nil, err
				}
			}
			return &results.Stacks{Report: s}, nil
		},
	}
}

// named returns the expressions of a parameter of the form {name: expression}.
func named(c *b.Call, param string) ([]plan.Var, error) {
	if !c.Has(param) {
		return nil, nil
	}
	vars := []plan.Var{}
	for _, item := range c.Value(param).(*starlark.Dict).Items() {
		name, ok := starlark.AsString(item[0])
		if !ok {
			return nil, c.Error(param, errors.New("a name is not a text"),
				"write "+param+` = {"comm": "start.comm"}`)
		}
		text, isText := starlark.AsString(item[1])
		if _, call := item[1].(starlark.Callable); !call && (!isText || text == "") {
			return nil, c.Error(param, errors.New(name+" is not an expression"),
				"write "+param+` = {"comm": "start.comm"}`)
		}
		f, err := fnOf(c, item[1])
		if err != nil {
			return nil, err
		}
		vars = append(vars, plan.Var{Name: name, Fn: f})
	}
	return vars, nil
}

// stackKeys returns the keys in the parameter by: a list of expressions, or
// {name: expression}.
func stackKeys(c *b.Call) ([]plan.Var, error) {
	keys := []plan.Var{}
	if _, ok := c.Value("by").(*starlark.Dict); ok {
		return named(c, "by")
	}
	for i, v := range c.List("by") {
		f, err := fnOf(c, v)
		if err != nil {
			return nil, err
		}
		keys = append(keys, plan.Var{Name: keyName(f, i), Fn: f})
	}
	return keys, nil
}

func burst() *b.Builtin {
	return &b.Builtin{
		Name:    "burst",
		Type:    "stream",
		Group:   b.StreamMethods,
		Summary: "Keeps the events of busy times: when count events come within a window of time.",
		Params: []b.Param{
			{Name: "count", Type: b.Int, Required: true, Doc: "events within the window; the count-th is the first to pass"},
			{Name: "within", Type: b.Duration, Required: true, Doc: "length of a window; the first event after it begins another"},
			{Name: "by", Type: b.Expression, Named: true, Doc: "a number, each value of which has its own window; by default the CPU, or the thread if threads are observed"},
		},
		Returns:  "stream",
		Result:   "the events of each window from the count-th on",
		Errors:   runtimeE + "; count is less than 1",
		Source:   computed,
		Cost:     "30 ns per event; 32 bytes for each key, of at most 65536",
		Examples: []b.Example{{Code: `sample(freq = 100).burst(90, 1 * s).log()`, Output: "<log>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			w := &plan.Burst{In: in(c), Count: c.Int("count"), WithinNS: c.Duration("within")}
			if w.Count < 1 {
				return nil, c.Errorf("count", "got %d, want at least 1", w.Count)
			}
			if w.WithinNS < 1 {
				return nil, c.Error("within", errors.New("got 0, want a time"), "write within = 1 * s")
			}
			var err error
			w.By, err = arg(c, "by")
			return with(c, w), err
		},
	}
}
