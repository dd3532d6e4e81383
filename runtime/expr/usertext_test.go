package expr_test

import (
	"testing"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
)

// texts are Members that have some texts.
type texts map[uint64]string

func (m texts) Member(*event.Event, event.Member) (uint64, bool) { return 0, false }
func (m texts) Callchain(*event.Event) []uint64                  { return nil }
func (m texts) Text(_ *event.Event, addr uint64) ([]byte, bool) {
	s, ok := m[addr]
	return []byte(s), ok
}

// A text is of the same event as its address, also where a pair uses a value
// that was named on its start.
func TestUserTextOfParts(t *testing.T) {
	s := testSchema()
	f, _ := s.Field("n64")
	make := func(text string) *event.Event {
		raw := append([]byte(nil), testEvent().Raw...)
		copy(raw[f.Offset:], []byte{1, 2, 0, 0, 0, 0, 0, 0})
		return &event.Event{Raw: raw, Stream: &event.Stream{Schema: s, Members: texts{0x201: text}}}
	}
	start, end := make("start"), make("end")
	pair := &event.Event{Derived: &event.Derived{Start: start, End: end}}
	own, err := cexpr.Lower("user_string(n64)", &Scope{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	of := func(n Node, e *event.Event, want string) {
		t.Helper()
		var fr Frame
		fr.Reset(e)
		if got := string(Build(n).Str(&fr)); got != want || fr.Err != nil {
			t.Errorf("%s: got %q %v, want %q", n, got, fr.Err, want)
		}
	}
	of(own, end, "end")
	of(Rebind(own, Self, Start), pair, "start")
	of(Rebind(own, Self, End), pair, "end")
	of(Rebind(Rebind(own, Self, Start), Start, Self), start, "start")
	parts := &Scope{Schema: s, Parts: map[string]*event.Schema{"start": s, "end": s}}
	both, err := cexpr.Lower("user_string(end.n64)", parts)
	if err != nil {
		t.Fatal(err)
	}
	of(both, pair, "end")
}

func TestUserTextRefuses(t *testing.T) {
	s := testSchema()
	sc := &Scope{Schema: s, Parts: map[string]*event.Schema{"start": s, "end": s}}
	f := func(src, want string) {
		t.Helper()
		n, err := cexpr.Lower(src, sc)
		switch {
		case err == nil && want != "":
			t.Errorf("%s: got %s, want an error", src, n)
		case err != nil && want == "":
			t.Errorf("%s: %v", src, err)
		}
	}
	f("user_string(n64 + 8)", "")
	f(`user_string(n64 > 5 ? n64 : 0, "-")`, "")
	f("user_string(comm)", "")
	f("user_string(5)", "no event")
	f("user_string(start.n64 + end.n64)", "two events")
	f("user_string(n64, comm)", "not constant")
	f("user_string()", "no address")
}
