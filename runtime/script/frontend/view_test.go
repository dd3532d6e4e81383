package frontend

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// wakeup is a schema with a field of each interesting kind.
func wakeup() *event.Schema {
	return &event.Schema{System: "sched", Name: "sched_wakeup", Size: 32, Fields: []event.Field{
		{Name: "pid", Kind: event.Int, Offset: 0, Size: 4, Signed: true},
		{Name: "prio", Kind: event.Int, Offset: 4, Size: 4},
		{Name: "comm", Kind: event.Str, Offset: 8, Size: 8},
		{Name: "addr", Kind: event.Int, Offset: 16, Size: 8},
		{Name: "flags", Kind: event.Int, Offset: 24, Size: 1},
		{Name: "wait", Kind: event.Int, Offset: 25, Size: 2, Unit: event.Nanos},
	}, Symbolic: func(field string) *event.Symbols {
		switch field {
		case "prio":
			return &event.Symbols{Names: map[uint64]string{120: "NORMAL"}}
		case "flags":
			return &event.Symbols{
				Names: map[uint64]string{1: "A", 4: "C"}, Flags: true, Delim: "|", Order: []uint64{1, 4},
			}
		}
		return nil
	}}
}

func sample(s *event.Schema, pid int32, comm string) *event.Event {
	raw := make([]byte, 32)
	binary.LittleEndian.PutUint32(raw, uint32(pid))
	binary.LittleEndian.PutUint32(raw[4:], 120)
	copy(raw[8:16], comm)
	binary.LittleEndian.PutUint64(raw[16:], 1<<63|5)
	raw[24] = 5
	binary.LittleEndian.PutUint16(raw[25:], 1500)
	return &event.Event{
		Time: 5_000_000_001, PID: 7, TID: 8, CPU: 1, Raw: raw, Stream: &event.Stream{Schema: s},
	}
}

func pairOf(s *event.Schema) *event.Event {
	a, b := sample(s, 1, "one"), sample(s, 2, "two")
	b.Time += 2500
	js := &event.Schema{Name: "pair", Fields: []event.Field{{Name: "key", Place: event.InSlot, Offset: 0}}}
	return &event.Event{Time: b.Time, Stream: &event.Stream{Schema: js},
		Derived: &event.Derived{Start: a, End: b, Slots: []event.Value{event.IntOf(42)}}}
}

func newFunc(t testing.TB, src string) (*script.Host, *Func) {
	t.Helper()
	h := script.NewHost(script.HostOptions{Predeclared: value.Units()})
	m, err := h.LoadSource("f.star", src)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFunc(h, m.Globals["f"].(starlark.Callable))
	if err != nil {
		t.Fatal(err)
	}
	return h, f
}

func TestViewAttributes(t *testing.T) {
	e := sample(wakeup(), -3, "bash")
	p := pairOf(wakeup())
	f := func(e *event.Event, expr, want string) {
		t.Helper()
		_, fn := newFunc(t, "f = lambda e: [repr("+expr+") for p in [e]][0]")
		v, err := fn.Call(e)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		} else if v.String() != want {
			t.Errorf("%s: got %s, want %s", expr, v, want)
		}
	}
	f(e, "e.pid", "-3")
	f(e, "e._pid", "7")
	f(e, "e.tid", "8")
	f(e, "e.cpu", "1")
	f(e, "e.prio", "120")
	f(e, "e.comm", `"bash"`)
	f(e, "e.addr", "9223372036854775813")
	f(e, "e.time", "5.000000001")
	f(e, "e.wait", "1.5us")
	f(e, "e.name", `"sched_wakeup"`)
	f(e, "e.system", `"sched"`)
	f(e, `e.symbolic("prio")`, `"NORMAL"`)
	f(e, `e.symbolic("flags")`, `"A|C"`)
	f(e, `e.symbolic("pid")`, `"-3"`)
	f(e, "e.text()", `"pid=-3 prio=120 comm=bash addr=9223372036854775813 flags=5 wait=1500"`)
	f(p, "p.delay", "2.5us")
	f(p, "(p.start.pid, p.end.pid, p.start.comm, p.end.comm)", `(1, 2, "one", "two")`)
	f(p, "p.key", "42")
	f(p, "p.end.time - p.start.time == p.delay", "True")
}

func TestViewErrors(t *testing.T) {
	f := func(e *event.Event, src, want string) {
		t.Helper()
		_, fn := newFunc(t, src)
		_, err := fn.Call(e)
		var d *diag.Error
		if !errors.As(err, &d) || d.Error() != want || d.Hint == "" {
			t.Errorf("%s:\n got %v\nwant %s, with a hint", src, err, want)
		}
	}
	e := sample(wakeup(), 1, "x")
	f(e, "f = lambda e: e.piid", "f.star:1:17: event sched:sched_wakeup: no field piid (did you mean pid?)")
	f(e, "f = lambda e: e.start", "f.star:1:17: event sched:sched_wakeup: no field start: the event is not a pair")
	f(e, "f = lambda e: e", "f.star:1:5: function lambda: an event is not a value: return one of its fields")
	f(e, `f = lambda e: e.symbolic("pd")`, "f.star:1:17: event sched:sched_wakeup: no field pd (did you mean pid?)")
	f(e, "f = lambda e: 1 << 64", "f.star:1:5: function lambda: integer 18446744073709551616 does not fit in 64 bits")
}

func TestKeptEventIsRejected(t *testing.T) {
	var kept starlark.Value
	h := script.NewHost(script.HostOptions{Predeclared: starlark.StringDict{
		"swap": starlark.NewBuiltin("swap",
			func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
				_ []starlark.Tuple) (starlark.Value, error) {
				old := kept
				kept = args[0]
				if old == nil {
					return starlark.None, nil
				}
				return old, nil
			}),
	}})
	m, err := h.LoadSource("f.star",
		"def g(e):\n    last = swap(e)\n    return last.pid if last != None else 0\n")
	if err != nil {
		t.Fatal(err)
	}
	fn, _ := NewFunc(h, m.Globals["g"].(starlark.Callable))
	e := sample(wakeup(), 1, "x")
	if _, err := fn.Call(e); err != nil {
		t.Fatal(err)
	}
	_, err = fn.Call(e)
	if err == nil || !strings.Contains(err.Error(), "used after the call that received it") {
		t.Errorf("got %v", err)
	}
}

func TestStepLimitOfOneCall(t *testing.T) {
	h := script.NewHost(script.HostOptions{Limits: limits.Policy{CallSteps: 1000}})
	m, err := h.LoadSource("f.star",
		"def f(e):\n    for i in range(e.prio):\n        pass\n    return 1\ndef g(e):\n    while True:\n        pass\n")
	if err != nil {
		t.Fatal(err)
	}
	fn, _ := NewFunc(h, m.Globals["f"].(starlark.Callable))
	e := sample(wakeup(), 1, "x")
	for range 100 { // the limit is for each call, not for all
		if _, err := fn.Call(e); err != nil {
			t.Fatal(err)
		}
	}
	gn, _ := NewFunc(h, m.Globals["g"].(starlark.Callable))
	for range 2 {
		if _, err := gn.Call(e); err == nil || !strings.Contains(err.Error(), "stopped after 1000 steps") {
			t.Errorf("got %v", err)
		}
	}
}

func TestFuncArguments(t *testing.T) {
	f := func(src string, ok bool) {
		t.Helper()
		h := script.NewHost(script.HostOptions{})
		m, err := h.LoadSource("f.star", src)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewFunc(h, m.Globals["f"].(starlark.Callable)); (err == nil) != ok {
			t.Errorf("%s: got %v, want accepted = %v", src, err, ok)
		}
	}
	f("f = lambda e: 1", true)
	f("f = lambda e, x = 1: 1", true)
	f("f = lambda *a: 1", true)
	f("f = lambda: 1", false)
	f("f = lambda a, b: 1", false)
	f("f = lambda **k: 1", false)
	f("f = lambda e, *, k: 1", false)
}

func TestCheckFields(t *testing.T) {
	sch, exit := wakeup(), &event.Schema{
		System: "kvm", Name: "kvm_exit", Fields: []event.Field{{Name: "exit_reason", Size: 4}},
	}
	one := []*expr.Scope{{Schema: sch}}
	both := []*expr.Scope{{Schema: sch}, {Schema: exit}}
	pair := []*expr.Scope{
		{Schema: pairOf(sch).Stream.Schema, Parts: map[string]*event.Schema{"start": exit, "end": sch}},
	}
	f := func(scopes []*expr.Scope, src, want string) {
		t.Helper()
		h := script.NewHost(script.HostOptions{})
		m, err := h.LoadSource("f.star", src)
		if err != nil {
			t.Fatal(err)
		}
		fn, err := NewFunc(h, m.Globals["f"].(starlark.Callable))
		if err != nil {
			t.Fatal(err)
		}
		err = fn.Check(scopes)
		if got := errText(err); got != want {
			t.Errorf("%s:\n got %s\nwant %s", src, got, want)
		}
	}
	f(one, "f = lambda e: e.pid > 1 and e.comm == 'x' and e._time and e.name", "")
	f(one, "f = lambda e: e.pidd", "f.star:1:17: event sched:sched_wakeup: no field pidd (did you mean pid?)")
	f(one, "def f(e):\n    e = struct\n    return e.any\nstruct = print", "")
	f(one, "def f(e):\n    return [x for x in [1] if e.nix]", "f.star:2:33: event sched:sched_wakeup: no field nix")
	f(one, "f = lambda e: e.delay", "f.star:1:17: event sched:sched_wakeup: no field delay")
	f(one, "f = lambda e: e.symbolic('prioo')", "f.star:1:26: event sched:sched_wakeup: no field prioo (did you mean prio?)")
	f(both, "f = lambda e: e.pid or e.exit_reason", "")
	f(both, "f = lambda e: e.nothing_like_it", "f.star:1:17: event sched:sched_wakeup or kvm:kvm_exit: no field nothing_like_it")
	f(pair, "f = lambda p: p.delay and p.key and p.start.exit_reason and p.end.comm", "")
	f(pair, "f = lambda p: p.start.exit_reson", "f.star:1:23: event kvm:kvm_exit: no field exit_reson (did you mean exit_reason?)")
	f(pair, "def f(p):\n    a = p.end\n    return a.exit_reason", "f.star:3:14: event sched:sched_wakeup: no field exit_reason")
	f(pair, "def g(x, e):\n    return e.cmm\nf = lambda p: g(1, p.end)", "f.star:2:14: event sched:sched_wakeup: no field cmm (did you mean comm?)")
	f(pair, "def f(p):\n    g = lambda: p.start.foo_bar\n    return g()", "f.star:2:25: event kvm:kvm_exit: no field foo_bar")
	f(nil, "f = lambda e: e.whatever", "")
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFuncAllocations(t *testing.T) {
	// The views, the arguments and the variables are made once.
	f := func(src string, want float64) {
		t.Helper()
		_, fn := newFunc(t, src)
		e := sample(wakeup(), 500, "bash")
		if got := testing.AllocsPerRun(100, func() { fn.Call(e) }); got > want {
			t.Errorf("%s: got %v allocations, want at most %v", src, got, want)
		}
	}
	f("f = lambda e: e.pid > 100", 0)
	f("f = lambda e: e.comm == 'bash' and e.cpu == 1", 0)
	f("f = lambda e: e.prio", 0)
}

func BenchmarkFunc(b *testing.B) {
	f := func(name, src string) {
		b.Run(name, func(b *testing.B) {
			_, fn := newFunc(b, src)
			e := sample(wakeup(), 500, "bash")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fn.Call(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	f("empty", "f = lambda e: True")
	f("compare", "f = lambda e: e.pid > 100")
	f("text", "f = lambda e: e.comm == 'bash'")
	f("tuple", "f = lambda e: (e.pid, e.comm)")
}

func TestRepeatedFailuresAreCheapAndStillErrors(t *testing.T) {
	_, fn := newFunc(t, "f = lambda e: e.nothing_like_it")
	e := sample(wakeup(), 1, "x")
	var first, last error
	for i := range explained * 2 {
		_, last = fn.Call(e)
		if i == 0 {
			first = last
		}
	}
	if last == nil || last.Error() != first.Error() {
		t.Errorf("got %v, want %v", last, first)
	}
}

// What an event does not carry is an error in each tier, not a value.
func TestWhatEventsLackIsAnError(t *testing.T) {
	schema := wakeup()
	full := sample(schema, 1, "one")
	short := sample(schema, 1, "one")
	short.Raw = short.Raw[:6]
	f := func(body string, e *event.Event, want error) {
		t.Helper()
		h := script.NewHost(script.HostOptions{})
		mod, err := h.LoadSource("f.star", "def f(e):\n    return "+body+"\n")
		if err != nil {
			t.Fatal(err)
		}
		direct, err := NewFunc(h, mod.Globals["f"].(*starlark.Function))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := direct.Call(e); !errors.Is(err, want) {
			t.Errorf("%s, interpreted: got %v, want %v", body, err, want)
		}
		n, err := direct.Lower(&expr.Scope{Schema: schema}, expr.Any)
		if err != nil {
			t.Fatal(err)
		}
		var fr expr.Frame
		fr.Reset(e)
		if expr.Build(n).Value(&fr); !errors.Is(fr.Err, want) {
			t.Errorf("%s, natively: got %v, want %v", body, fr.Err, want)
		}
	}
	for _, member := range []string{"pod", "container", "unit", "cgroup_id", "weight", "comm_nodigit"} {
		f("e."+member, full, expr.ErrMissing)
	}
	f("e.addr", short, expr.ErrShort)
	f("e.prio", short, expr.ErrShort)
	f("e.addr if e.prio else 0", short, expr.ErrShort)
}
