package hook_test

import (
	"slices"
	"strings"
	"testing"

	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// name is a text that is the same for all events of a probe.
func name(text string) *expr.Field {
	return &expr.Field{F: &event.Field{Name: "function", Kind: event.Str, Place: event.InMember,
		Computed: &event.Computed{Operand: &event.Operand{Text: text}}}}
}

// argument is a number of a probe, in a register.
func argument(reg uint8) *expr.Field {
	return &expr.Field{F: &event.Field{Name: "arg", Place: event.InMember, Size: 8, Computed: &event.Computed{
		Operand: &event.Operand{Regs: []event.ScaledReg{{Reg: reg}}}}}}
}

// The programs of two probes are the same but for the names of their functions.
func TestWays(t *testing.T) {
	say := func(places bool, nodes ...expr.Node) (string, bool) {
		w := hook.Ways{Places: places, Same: true}
		w.Say(nodes...)
		return w.String(), w.Same
	}
	a, same := say(false, name("malloc"), argument(5), nil)
	b, too := say(false, name("free"), argument(5), nil)
	if a != b || !same || !too {
		t.Errorf("two names: got %q, %t and %q, %t, want the same", a, same, b, too)
	}
	if c, _ := say(false, name("free"), argument(4), nil); c == a {
		t.Errorf("another register: got %q, as before", c)
	}
	if c, _ := say(false, name("free"), argument(5), argument(5)); c == a {
		t.Errorf("one more: got %q, as before", c)
	}
	// A name within an expression is no longer one that the place tells.
	equal, err := expr.NewBinary(expr.OpStrEq, name("free"), expr.NewStr("free"))
	if err != nil {
		t.Fatal(err)
	}
	if _, same := say(false, equal); same {
		t.Error("a name that is compared: got that others may go the same way")
	}
	record := &expr.Field{F: &event.Field{Name: "place", Place: event.InRaw, Offset: 8, Size: 8}}
	for _, places := range []bool{false, true} {
		if _, same := say(places, record); same != places {
			t.Errorf("a field of the record, places told %t: got %t", places, same)
		}
	}
}

// TestWaysOfSystemCalls checks that texts that are the same for all events of one, such as names of
// events, distinguish no rows in a key, and numbers of the records of system calls are in the same
// places.
func TestWaysOfSystemCalls(t *testing.T) {
	say := func(nodes ...expr.Node) (string, bool) {
		w := hook.Ways{Calls: true, Same: true}
		w.Columns(nodes...)
		return w.String(), w.Same
	}
	at := func(off int, kind event.Kind) expr.Node {
		return &expr.Field{F: &event.Field{Name: "fd", Kind: kind, Place: event.InRaw, Offset: off, Size: 8}}
	}
	a, same := say(expr.NewStr("sys_enter_read"), at(16, event.Int))
	b, too := say(expr.NewStr("sys_enter_write"), at(16, event.Int))
	if a != b || !same || !too {
		t.Errorf("got %q, %t and %q, %t, want the same", a, same, b, too)
	}
	if c, _ := say(expr.NewStr("sys_enter_write"), at(24, event.Int)); c == a {
		t.Errorf("another place: got %q, as before", c)
	}
	if _, same := say(at(16, event.Str)); same {
		t.Error("a text of the record: got that others may go the same way")
	}
	w := hook.Ways{Calls: true, Same: true}
	w.Say(expr.NewStr("sys_enter_read"))
	if first := w.String(); !strings.Contains(first, "sys_enter_read") {
		t.Errorf("a text that is no key: got %q, want the text", first)
	}
	texts := []string{"sys_enter_read", "sys_enter_write"}
	if got := hook.Named(expr.NewStr(texts[0]), texts, 1).F.Operand(); !slices.Equal(got.Texts, texts) ||
		got.List != 1 {
		t.Errorf("got %+v, want list 1 with both names", got)
	}
}

func TestNames(t *testing.T) {
	if !hook.IsName(name("malloc")) || hook.IsName(argument(5)) || hook.IsName(expr.NewStr("malloc")) {
		t.Error("got something else for a name, want constants of probes alone")
	}
	if got := hook.NameIn(name("malloc")); got != "malloc" {
		t.Errorf("got %q, want malloc", got)
	}
	n := name("malloc")
	names := []string{"malloc", "free", "seventeen bytes.."}
	if got := hook.Named(n, names, 0).F.Operand(); !slices.Equal(got.Texts,
		names) || n.F.Operand().Texts != nil {
		t.Errorf("got %+v, and %+v of the field that it was made of", got, n.F.Operand())
	}
	for want, names := range map[int][]string{0: nil, 8: {"", "1234567"}, 16: {"12345678"}, 24: names} {
		if got := hook.NamesRoom(names); got != want {
			t.Errorf("%q: got room for %d, want %d", names, got, want)
		}
	}
	m := hook.NameMap(names)
	if m.MaxEntries != 3 || m.ValueSize != 24 || string(m.Contents[1].Value.([]byte)[:5]) != "free\x00" {
		t.Errorf("got a map of %d with %d bytes, %v", m.MaxEntries, m.ValueSize, m.Contents)
	}
}

func TestNumbers(t *testing.T) {
	of := func(start, end int) int { return 10*start + end }
	f := func(starts, ends []int, want ...uint64) {
		t.Helper()
		if got := hook.EveryNumber(starts, 7, ends, 8, of); !slices.Equal(got, want) {
			t.Errorf("%v, %v: got %d, want %d", starts, ends, got, want)
		}
	}
	f(nil, nil, 78)
	f([]int{1, 2}, nil, 18, 28)
	f([]int{1, 2}, []int{3, 4}, 13, 14, 23, 24)
	m := hook.NumberMap([]uint64{18, 28})
	if m.MaxEntries != 2 || m.Contents[1].Key != uint32(1) || m.Contents[1].Value != uint64(28) {
		t.Errorf("got a map of %d, %v", m.MaxEntries, m.Contents)
	}
}
