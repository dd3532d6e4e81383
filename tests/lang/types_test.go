package lang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/builtins"
	"ppscript/builtins/all"
	"ppscript/builtins/pipeline"
	"ppscript/builtins/results"
	"ppscript/runtime/event/eventtest"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan"
	"ppscript/runtime/script"
	"ppscript/runtime/system/limits"
	"ppscript/stdlib"

	"go.starlark.net/starlark"
)

// This file tries values of each type for each parameter of builtins, operators, methods of texts
// and aggregators. An expression that check accepts must not fail for every event.

// typedEvents have values of many forms, because a function of a text may expect a number in
// it, or a name.
const typedEvents = `
a:x v:s64 addr:u64 port:u16 took:ns comm:str
1us 0 1 v=1 addr=1 port=80 took=1us comm=read
2us 0 2 v=2 addr=0xffffffff81000010 port=1 took=3ns comm=1
3us 0 2 v=3 addr=2 port=2 took=5ms comm=10ms
4us 0 2 v=-7 addr=0 port=0 took=0ns comm=0
5us 0 1 v=40 addr=9 port=9 took=4us comm=a
6us 0 1 v=5 addr=9 port=9 took=4us comm=%s
7us 0 1 v=6 addr=9 port=9 took=4us comm=longer
`

const typedCount = 7

// typed are expressions of an event by their type. None is not among them: an option that is not
// given is None, and check does not judge code that a test for None guards.
var typed = []struct{ name, text string }{
	{"int", "e.v"}, {"u64", "e.addr"}, {"string", "e.comm"}, {"duration", "e.took"},
	{"time", "e.time"}, {"bool", "(e.v > 1)"}, {"float", "(e.v * 0.5)"}, {"size", "(e.port * KiB)"},
	{"list", "[e.v, 2]"}, {"dict", "{1: e.v}"}, {"event", "e"},
	{"names", `{1: "one"}`}, {"constant int", "1"}, {"constant string", `"read"`}, {"function", "(lambda x: x)"},
}

// A verdict is the outcome for a stream or result: refused before a run, or the number of failed
// evaluations.
type verdict struct {
	refused error
	failed  uint64
	first   error
}

var cases int // a host loads each file once

// judged checks the value S of a script, and runs it over typedEvents.
func judged(t *testing.T, h *script.Host, text string, interpret bool) verdict {
	t.Helper()
	cases++
	m, err := h.LoadSource(fmt.Sprintf("t%d.star", cases), "x = tracepoint(\"a:x\")\n"+text+"\n")
	if err != nil {
		return verdict{refused: err}
	}
	var report plan.Report
	switch w := m.Globals["S"].(type) {
	case *pipeline.Stream:
		report = &plan.Log{In: w.S}
	case results.Reporter:
		report = w.Plan()
	default:
		return verdict{refused: fmt.Errorf("no result")}
	}
	c, err := eventtest.ParseText(typedEvents)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{capture: c}
	pl, err := plan.Build([]plan.Report{report}, plan.Env{Catalog: p, Replay: true, Interpret: interpret,
		Services: &expr.Services{
			Traced: func(int32) bool { return true },
			Comm:   func(int32) string { return "comm" },
			Ksym:   func(uint64) string { return "symbol" },
		}})
	if err != nil {
		return verdict{refused: err}
	}
	in, err := p.deliver(pl)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return verdict{}
	}
	v := verdict{failed: in.Failures().Failed() + p.loss.Errors}
	in.Failures().Errors(func(_ string, errs *flow.Errors) {
		if v.first == nil {
			v.first = errs.First
		}
	})
	return v
}

func typedHost(t *testing.T) (*script.Host, *builtins.Registry) {
	t.Helper()
	r, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return script.NewHost(script.HostOptions{
		Stdlib: stdlib.FS(), Predeclared: r.Predeclared(), Limits: limits.Policy{Steps: 1_000_000},
	}), r
}

// A table counts the outcomes of its cases.
type table struct {
	*testing.T
	host                     *script.Host
	refused, passed, failing int
}

// holds runs a case in both engines: either it is refused, or at least one
// event passes.
func (x *table) holds(text string) (ok bool) {
	x.Helper()
	ok = true
	for _, interpret := range []bool{false, true} {
		v := judged(x.T, x.host, text, interpret)
		switch {
		case v.refused != nil:
			x.refused++
			return false
		case v.failed >= typedCount:
			x.failing++
			ok = false
			if x.failing < 40 {
				x.Errorf("%s\npasses check, and fails for each event (interpreted: %v): %v",
					text, interpret, v.first)
			}
		default:
			x.passed++
		}
	}
	return ok
}

// where returns a stream whose predicate evaluates an expression.
func where(text string) string { return "S = x.where(lambda e: " + text + ")" }

// Operators and parts of values.
func TestOperatorsOfWrongTypes(t *testing.T) {
	h, _ := typedHost(t)
	x := &table{T: t, host: h}
	for _, a := range typed {
		for _, one := range []string{
			"-%s", "~%s", "+%s", "not %s", "%s.ns", "%s.bytes", "%s.nothing", "%s()",
		} {
			if a.name != "function" || one != "%s()" {
				x.holds(where(fmt.Sprintf(one, a.text)))
			}
		}
		for _, b := range typed {
			for _, op := range []string{"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>",
				"==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"} {
				x.holds(where("bool(" + a.text + " " + op + " " + b.text + ")"))
			}
			x.holds(where(a.text + "[" + b.text + "]"))
			x.holds(where(a.text + "[" + b.text + ":]"))
			x.holds(where("[m for m in " + a.text + "] != " + b.text))
		}
	}
	x.logs(4000, 1500)
}

func (x *table) logs(refused, passed int) {
	x.Logf("%d refused, %d pass, %d fail", x.refused, x.passed, x.failing)
	if x.refused < refused || x.passed < passed {
		x.Errorf("got %d refused and %d that pass, want at least %d and %d",
			x.refused, x.passed, refused, passed)
	}
}

// Functions of Starlark, and methods of texts.
func TestFunctionsOfWrongTypes(t *testing.T) {
	h, _ := typedHost(t)
	x := &table{T: t, host: h}
	for _, name := range slices.Sorted(slices.Values(starlark.Universe.Keys())) {
		switch starlark.Universe[name].(type) {
		case *starlark.Builtin:
		default:
			continue
		}
		switch name {
		case "fail", "print", "getattr": // these have effects, or other tests check them
			continue
		}
		for _, a := range typed {
			x.holds(where("bool(" + name + "(" + a.text + "))"))
			for _, b := range typed {
				x.holds(where("bool(" + name + "(" + a.text + ", " + b.text + "))"))
			}
		}
	}
	for _, name := range starlark.String("").AttrNames() {
		x.holds(where("bool(e.comm." + name + "())"))
		for _, a := range typed {
			x.holds(where("bool(e.comm." + name + "(" + a.text + "))"))
		}
	}
	x.logs(4000, 400)
}

// machine are functions whose result depends on the machine, so that no argument is right
// everywhere: only the types of the first parameter are tried. elsewhere are functions that read
// the kernel's memory, which these events do not have.
var (
	machine = []string{
		"block_device", "block_devices", "cpu_cores", "sysctl", "has_pmu", "read_kernel", "evaluate", "enumerator",
	}
	elsewhere = []string{
		"task", "cgroup", "per_cpu", "trace_arg", "cast", "container_of", "kernel_string", "user_string",
		"command_line", "path", "list_entries",
	}
	// These print something, call a function, or want 4 or 16 bytes.
	others = []string{"help", "try_", "ip_address"}
)

// Functions of the host get each type for each parameter; the other arguments are
// right.
func TestBuiltinsOfWrongTypes(t *testing.T) {
	h, r := typedHost(t)
	x := &table{T: t, host: h}
	for _, b := range r.All() {
		if b.Type != "" || b.Impl == nil || b.Group != builtins.Hosted && b.Group != builtins.Values {
			continue
		}
		if slices.Contains(elsewhere, b.Name) || slices.Contains(others, b.Name) {
			continue
		}
		params := b.Params
		right := []string{`"x"`}
		if slices.Contains(machine, b.Name) {
			params = params[:min(1, len(params))]
		} else if right = x.right(b); right == nil {
			t.Errorf("%s: no arguments are found that it takes", b.Name)
		}
		for i, p := range params {
			for _, a := range typed {
				args := slices.Clone(right)
				switch {
				case p.Rest != "":
					continue
				case i < len(args):
					args[i] = a.text
				default:
					args = append(args, p.Name+" = "+a.text)
				}
				if slices.Contains(machine, b.Name) && strings.Contains(a.name, "string") {
					continue
				}
				x.holds(where("bool(" + b.Name + "(" + strings.Join(args, ", ") + "))"))
			}
		}
	}
	x.logs(300, 100)
}

// right returns arguments that a builtin accepts for its required parameters; nil if none were
// found.
func (x *table) right(b *builtins.Builtin) []string {
	var names []string
	for _, p := range b.Params {
		if p.Required && p.Rest == "" {
			names = append(names, p.Name)
		}
	}
	args := make([]string, len(names), len(b.Params))
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(args) {
			v := judged(x.T, x.host, where("bool("+b.Name+"("+strings.Join(args, ", ")+"))"), false)
			return v.refused == nil && v.failed < typedCount
		}
		for _, a := range typed {
			args[i] = a.text
			if try(i + 1) {
				return true
			}
		}
		return false
	}
	if !try(0) {
		return nil
	}
	return args
}

// Aggregators and methods that take expressions, as functions and as texts of C.
func TestExpressionsOfWrongTypes(t *testing.T) {
	h, r := typedHost(t)
	x := &table{T: t, host: h}
	values := []string{
		`"v"`, `"comm"`, `"took"`, `"time"`, `"v > 1"`, `"comm > 1"`, `"v = 1"`, `"addr"`, `"nothing"`, `"v + comm"`, "comm", "len", "str", "5", "1.5", "2 * us", "[]", "{}",
	}
	methods := []string{"where", "let", "by", "hist", "key", "burst"}
	for _, a := range typed {
		values = append(values, "lambda e: "+a.text)
	}
	for _, b := range r.All() {
		if name, ok := strings.CutPrefix(b.Name, "agg."); ok && b.Type == "" {
			for _, v := range values {
				x.holds("S = x.agg(c = agg." + name + "(" + v + "))")
				for i := range b.Params {
					if i > 0 && b.Params[i].Rest == "" {
						x.holds("S = x.agg(c = agg." + name + `("v", ` + b.Params[i].Name + " = " + v + "))")
					}
				}
			}
		}
		if b.Type != "stream" || !slices.Contains(methods, b.Name) {
			continue
		}
		for i, p := range b.Params {
			for _, v := range values {
				call := "S = x." + b.Name + "("
				switch {
				case p.Rest == "**":
					call += "k = " + v
				case i == 0 && !p.Named || p.Rest == "*":
					call += v
				default:
					call += `"v", ` + p.Name + " = " + v
				}
				if call += ")"; b.Name == "by" {
					call += ".count()"
				}
				x.holds(call)
			}
		}
	}
	x.logs(1000, 500)
}
