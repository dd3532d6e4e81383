package frontend

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// randomSample varies every field of a wakeup, extremes included.
func randomSample(r *rand.Rand, s *event.Schema) *event.Event {
	e := sample(s, int32(r.Uint32()), []string{"", "bash", "kworker", "12345678"}[r.IntN(4)])
	if r.IntN(2) == 0 {
		binary.LittleEndian.PutUint32(e.Raw, uint32(r.IntN(300)-100))
	}
	binary.LittleEndian.PutUint32(e.Raw[4:], []uint32{0, 1, 120, 1<<32 - 1, r.Uint32()}[r.IntN(5)])
	binary.LittleEndian.PutUint64(e.Raw[16:], []uint64{0, 1, 1 << 63, 1<<64 - 1, r.Uint64()}[r.IntN(5)])
	e.Raw[24] = byte(r.Uint32())
	binary.LittleEndian.PutUint16(e.Raw[25:], uint16(r.Uint32()))
	e.Time += event.Time(r.IntN(1_000_000))
	e.CPU = int32(r.IntN(4))
	return e
}

// named is wakeup with names as the print fmt gives them, and with its bytes as arrays.
func named() *event.Schema {
	s := wakeup()
	s.Fields = append(s.Fields,
		event.Field{Name: "words", Type: "int[2]", Kind: event.Array, Size: 8, Elem: 4, Signed: true},
		event.Field{Name: "longs", Type: "u64[2]", Kind: event.Array, Offset: 8, Size: 16, Elem: 8},
		event.Field{Name: "bytes", Type: "u8[4]", Kind: event.Array, Offset: 22, Size: 4, Elem: 1})
	s.Symbolic = nil
	prio, _ := s.Field("prio")
	s.SymbolicOf = func(field string, e *event.Event) (string, bool) {
		n, ok := prio.Int(e)
		return "NORMAL", field == "prio" && ok && n == 120
	}
	return s
}

// lowered are functions that must be lowered; each is compared with the
// interpreter on random events.
var lowered = []string{
	"lambda e: e.pid",
	"lambda e: e.pid > 100",
	"lambda e: e.pid >= 0 and e.cpu == 1 or not e.flags",
	"lambda e: e.prio - 120",
	"lambda e: e.prio - e.pid",
	"lambda e: e.pid * e.prio",
	"lambda e: e.pid * e.pid * e.pid",
	"lambda e: e.pid // 7 + e.pid % 7",
	"lambda e: e.pid // e.flags",
	"lambda e: -e.pid",
	"lambda e: ~e.pid",
	"lambda e: e.prio & 0xff | 1 << 4 ^ e.flags",
	"lambda e: e.prio << 8 >> 3",
	"lambda e: e.pid / 4",
	"lambda e: e.pid / e.flags",
	"lambda e: e.addr / e.prio",
	"lambda e: -(e.pid / 7) * 1e300 * 1e300",
	"lambda e: e.pid / 7 // 0.3 + e.prio % 1.5 - e.addr",
	"lambda e: e.pid / 7 // (e.prio / 3)",
	"lambda e: e.pid / 2 > e.prio",
	"lambda e: e.addr / 1 == e.addr",
	"lambda e: e.pid * 1e308 * 100 - e.pid * 1e308 * 100 > 3",
	"lambda e: 3 <= e.pid * 1e308 * 100 - e.pid * 1e308 * 100",
	"lambda e: e.pid * 1e308 * 100 - e.pid * 1e308 * 100 == 0.5",
	"lambda e: e.pid * 1e308 * 100 - e.pid * 1e308 * 100 != e.prio",
	"lambda e: 0.5 if e.pid > 100.5 else e.pid / 3",
	"lambda e: float(e.addr) > 2 and e.pid / 3 in (1.0, 2)",
	"lambda e: not e.pid / 5",
	"lambda e: not (e.pid // e.flags, 1)",
	"lambda e: 1 if (e.comm, e.pid // e.flags, -e.pid) else 2",
	"lambda e: (e.pid // e.flags, e.comm)",
	"lambda e: bool((e.pid // e.flags, 1))",
	"lambda e: (e.pid * us / 3, e.pid * us / 2.5, e.prio * 1.5 * ms)",
	"lambda e: e.pid * us / (e.prio * us)",
	"lambda e: e.pid * us / e.flags > 0.5",
	"lambda e: e.pid * us / 3 >= 100.25",
	"lambda e: e.addr",
	"lambda e: e.addr > e.pid",
	"lambda e: e.pid < e.addr",
	"lambda e: e.addr == e.prio",
	"lambda e: e.addr >> 4",
	"lambda e: e.addr & 0xfff",
	"lambda e: e.addr % 1000 // 3",
	"lambda e: e.addr > 1 << 63",
	"lambda e: e.comm == 'bash'",
	"lambda e: e.comm < 'c' and e.comm != ''",
	"lambda e: e.comm.startswith('k') or e.comm.endswith('h')",
	"lambda e: 'work' in e.comm",
	"lambda e: e.comm",
	"lambda e: len(e.comm)",
	"lambda e: bool(e.comm)",
	"lambda e: e.prio in (0, 120, 5) or e.comm not in ['bash', 'x']",
	"lambda e: 1 if e.pid > 0 else -1",
	"lambda e: (e.pid, e.comm, e.cpu + 1)",
	"lambda e: e.wait > 10 * us",
	"lambda e: e.wait > 5 or e.wait == 700",
	"lambda e: 5 < e.wait and e.wait != -3",
	"lambda e: e.pid > 1 * KiB or e.prio >= 10 * us or 120 * us == e.addr",
	"lambda e: e.wait // us",
	"lambda e: (e.wait + 5 * us).ns",
	"lambda e: e.time - 5 * us > e.time and e.time + e.wait > e.time",
	"lambda e: e.wait % (3 * us) == 1 * us",
	"lambda e: e.name == 'sched_wakeup'",
	"lambda e: e.name",
	"lambda e: LIMIT < e.pid and FLAG",
	"lambda e: FLAG and e.pid",
	"lambda e: e.pid > OPT.than",
	"lambda e: level(e) + 1",
	"lambda e: clip(e.pid)",
	"many",
	"lambda e: e._pid + e._tid",
	"lambda e: e.time",
	"lambda e: e.pid == 3 and e.pid // 0 == 1",
	"lambda e: e.symbolic('prio')",
	"lambda e: e.wait + e.wait",
	"lambda e: (e.wait + e.wait, e.time, e.time - 5 * us, e.wait)",
	"lambda e: e.comm + 'x' + str(e.pid) + str(e.addr)",
	"lambda e: e.comm[:2]",
	"lambda e: e.comm[-3:]",
	"lambda e: NAMES.get(e.cpu, 'none')",
	"lambda e: NAMES[e.cpu]",
	"lambda e: CODES.get(e.comm, -1)",
	"lambda e: min(e.pid, e.prio, 100) + max(e.cpu, 2) + abs(e.pid)",
	"lambda e: min(e.wait, 5 * us)",
	"lambda e: int(e.pid > 5) + int(e.prio)",
	"lambda e: divide(e.pid, e.flags)",
	"lambda e: divide(e.pid, e.flags) > 3 and divide(1, e.cpu) == 2",
	"several", "loops", "early", "swap",
	"lambda e: e.words[0]",
	"lambda e: (e.words[1], e.longs[1], e.bytes[-1])",
	"lambda e: e.longs[1] >> 3",
	"lambda e: e.bytes[2] - 300 if e.words[0] > 5 else e.bytes[0]",
	"lambda e: e.comm.find('a')",
	"lambda e: (e.comm.rfind('a'), e.comm.find('wor'), e.comm.rfind(''), e.comm.find(e.comm), e.comm.count('1'))",
	"lambda e: e.comm[e.comm.rfind('a'):]",
	"lambda e: e.comm[e.comm.find('o') + 1:e.prio]",
	"lambda e: e.comm[:-e.cpu]",
	"lambda e: e.comm[e.cpu]",
	"lambda e: e.comm[-2]",
	"lambda e: (e.comm + 'ÄÖß').upper() + e.comm.lower()",
	"lambda e: e.comm.upper().strip('KHR')",
	"lambda e: (' \\t' + e.comm + '\\u2003\\n').strip() + '|' + (e.comm + '  ').rstrip() + ('  ' + e.comm).lstrip()",
	"lambda e: e.comm.removeprefix('ba') + e.comm.removesuffix('er')",
	"lambda e: e.comm.split('o')[0]",
	"lambda e: e.comm.split('o')[1]",
	"lambda e: e.comm.split('s')[-1] + (e.comm + 'aaa').split('aa')[-1]",
	"lambda e: e.comm.split('1')[-2]",
	"lambda e: e.comm.startswith(('k', 'ba')) or e.comm.endswith(('8',))",
	"lambda e: e.comm or 'nobody'",
	"lambda e: e.comm.lower() and 'some' + str(e.pid)",
	"lambda e: '%d of %s: %s%%, %x %s' % (e.pid, e.comm, e.cpu, e.prio, 5)",
	"lambda e: 'pid %d' % e.pid",
	"lambda e: LIST[e.cpu] + LIST[-e.cpu]",
	"lambda e: TEXTS[e.prio - 120]",
	"lambda e: (e.comm, 'idle' if e.pid == 0 else 'busy')",
}

const prelude = `
NAMES = {0: "zero", 1: "one", 2: "two"}
CODES = {"bash": 1, "kworker": 2}
LIST = [1, 2, 3]
TEXTS = ("a", "b", "c")
def divide(a, b):
    q = a // b
    q += 1
    return q
def several(e):
    n = 0
    if e.pid > 0:
        n += e.pid
        m = 2
    else:
        m = n - 1
    n = n * m
    if e.cpu == 3:
        return 7 * n
    return n + e.prio // e.cpu
def loops(e):
    n = 0
    for i in range(5):
        if e.cpu == i:
            continue
        if e.prio % 7 == i:
            break
        n += i * e.pid
    for name, code in CODES.items():
        if e.comm == name:
            n -= code
    return n
def early(e):
    last = ""
    for i in (1, 2, 3):
        if e.pid % i:
            last = e.comm + str(i)
        elif e.flags > 100:
            return last
    return last + "."
def swap(e):
    a, b = e.pid, e.cpu
    if a > b:
        a, b = b, a
    return b - a
LIMIT = 50
FLAG = True
OPT = struct(than = 7)
def level(e):
    """Doc."""
    if e.prio < 100:
        return 0
    elif e.prio < 120:
        return 1
    return 2
def clip(x, top = 1000):
    return top if x > top else x
def many(e):
    d = e.pid
    w = e.wait
    if d < 0:
        d = 0
    if w > 20 * us:
        pass
    else:
        return d + 1
    return d
`

func lowerHost(t *testing.T, fn string) *Func {
	t.Helper()
	names := value.Units()
	names["struct"] = starlark.NewBuiltin("struct", makeStruct)
	h := script.NewHost(script.HostOptions{Predeclared: names})
	m, err := h.LoadSource("f.star", prelude+"f = "+fn+"\n")
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFunc(h, m.Globals["f"].(starlark.Callable))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLoweredAgreesWithInterpreter is the differential test of the two engines.
func TestLoweredAgreesWithInterpreter(t *testing.T) {
	s := named()
	sc := &expr.Scope{Schema: s}
	r := rand.New(rand.NewPCG(1, 2))
	for _, src := range lowered {
		f := lowerHost(t, src)
		n, err := f.Lower(sc, expr.Any)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		agree(t, src, f, n, func() *event.Event { return randomSample(r, s) })
		if b, err := f.Lower(sc, expr.Bool); err != nil {
			t.Errorf("%s: as a condition: %v", src, err)
		} else {
			agreeTruth(t, src, f, b, func() *event.Event { return randomSample(r, s) })
		}
	}
}

func agree(t *testing.T, src string, f *Func, n expr.Node, next func() *event.Event) {
	t.Helper()
	p := expr.Build(n)
	var fr expr.Frame
	for range 200 {
		e := next()
		want, werr := f.Call(e)
		fr.Reset(e)
		got := p.Value(&fr)
		if (fr.Err != nil) != (werr != nil) {
			t.Errorf("%s: native error %v, interpreted %v", src, fr.Err, werr)
			return
		}
		if werr == nil && got.Compare(want) != 0 {
			t.Errorf("%s: native %v %s, interpreted %v %s", src, got.Kind, got, want.Kind, want)
			return
		}
	}
}

func agreeTruth(t *testing.T, src string, f *Func, n expr.Node, next func() *event.Event) {
	t.Helper()
	p := expr.Build(n)
	var fr expr.Frame
	for range 100 {
		e := next()
		want, werr := f.Test(e)
		fr.Reset(e)
		got := p.Bool(&fr)
		if (fr.Err != nil) != (werr != nil) && !errors.Is(fr.Err, expr.ErrOverflow) ||
			werr == nil && fr.Err == nil && got != want {
			t.Errorf("%s: truth: native %v %v, interpreted %v %v", src, got, fr.Err, want, werr)
			return
		}
	}
}

func TestLoweredPairs(t *testing.T) {
	s := named()
	r := rand.New(rand.NewPCG(3, 4))
	js := pairOf(s).Stream.Schema
	sc := &expr.Scope{Schema: js, Parts: map[string]*event.Schema{"start": s, "end": s}}
	next := func() *event.Event {
		p := pairOf(s)
		p.Derived.Start, p.Derived.End = randomSample(r, s), randomSample(r, s)
		return p
	}
	for _, src := range []string{
		"lambda p: p.delay > 10 * us",
		"lambda p: p.delay.ns",
		"lambda p: p.end.time - p.start.time == p.delay",
		"lambda p: p.start.pid + p.end.prio",
		"lambda p: level(p.start)",
		"lambda p: p.start.comm == p.end.comm",
		"lambda p: p.start.symbolic('prio')",
		"lambda p: p.end.symbolic('pid')",
	} {
		f := lowerHost(t, src)
		n, err := f.Lower(sc, expr.Any)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		agree(t, src, f, n, next)
	}
}

func TestNotLowered(t *testing.T) {
	sc := &expr.Scope{Schema: wakeup()}
	f := func(src, want string) {
		t.Helper()
		_, err := lowerHost(t, src).Lower(sc, expr.Any)
		var why *notLowered
		if !errors.As(err, &why) || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(why.Pos, "f.star:") && why.Pos != "" {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
	f("lambda e: 1 if e.pid else e.pid / 2", "it is a int or a float")
	f("lambda e: e.pid / 'x'", "int / string")
	f("lambda e: us / e.addr", "of an unsigned")
	f("lambda e: e.comm * 2", "string * int")
	f("lambda e: e.comm == 5", "a string is compared with an int")
	f("lambda e: e.pid or e.cpu", "the value of or is one of its sides")
	f("lambda e: e.addr + 1", "may need more than 64 bits")
	f("lambda e: e.addr - e.pid", "may need more than 64 bits")
	f("lambda e: [x for x in [e.pid]]", "this expression cannot be translated")
	f("lambda e: {1: e.cpu}[e.pid]", "a dict is made for each event")
	f("lambda e: repr(e.pid)", "a call of what cannot be translated")
	f("lambda e: e.symbolic('prio')", "found by the interpreter only")
	f("lambda e: e.symbolic('comm')", "not a numeric field")
	f("lambda e: 1 if e.pid else 'x'", "it is a int or a string")
	f("lambda e: None", "a NoneType cannot be part of it")
	f("len", "is a builtin")
	f("lambda e: (e.pid > 1) == 1", "a bool is compared with an int")
}

func TestCheckScopes(t *testing.T) {
	f := lowerHost(t, "lambda e: e.pid + e.mine")
	sc := &expr.Scope{Schema: wakeup()}
	err := f.Check([]*expr.Scope{sc})
	if err == nil || !strings.Contains(err.Error(), "sched:sched_wakeup: no field mine") {
		t.Errorf("got %v", err)
	}
	sc.Vars = map[string]expr.Node{"mine": expr.NewInt(1)}
	if err := f.Check([]*expr.Scope{sc}); err != nil {
		t.Errorf("a name of let is unknown: %v", err)
	}
	e := sample(wakeup(), 41, "x")
	e.Stream.Schema = sc.Schema
	if v, err := f.Call(e); err != nil || v.Int() != 42 {
		t.Errorf("interpreted: got %v, %v, want 42", v, err)
	}
	if n, err := f.Lower(sc, expr.Int); err != nil || n.Type() != expr.TInt {
		t.Errorf("got %v, %v", n, err)
	}
}

func BenchmarkLowered(b *testing.B) {
	s := wakeup()
	h := script.NewHost(script.HostOptions{})
	m, err := h.LoadSource("f.star", "f = lambda e: e.pid > 100 and e.comm == 'bash'")
	if err != nil {
		b.Fatal(err)
	}
	f, _ := NewFunc(h, m.Globals["f"].(starlark.Callable))
	n, err := f.Lower(&expr.Scope{Schema: s}, expr.Bool)
	if err != nil {
		b.Fatal(err)
	}
	p, e := expr.Build(n), sample(s, 500, "bash")
	var fr expr.Frame
	b.Run("native", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fr.Reset(e)
			if !p.Bool(&fr) || fr.Err != nil {
				b.Fatal(fr.Err)
			}
		}
	})
	b.Run("interpreted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ok, err := f.Test(e); !ok {
				b.Fatal(err)
			}
		}
	})
}
