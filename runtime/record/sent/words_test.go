package sent

import (
	"encoding/binary"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// An event of a probe that is a part of something else has the registers and arguments that
// were sent of it, and says which were not, or could not be read. A text that was cut says so.
func TestBeside(t *testing.T) {
	const reg, arg, unread, unsent, text, missing = event.MemberReg + 5, event.MemberArg, event.MemberArg + 1,
		event.MemberArg + 2, event.MemberArg + 3, event.MemberArg + 4
	schema := &event.Schema{}
	for _, m := range []event.Member{reg, arg, unread, unsent} {
		schema.Fields = append(schema.Fields, event.Field{Place: event.InMember, Member: m, Kind: event.Int})
	}
	for _, m := range []event.Member{text, missing} {
		schema.Fields = append(schema.Fields, event.Field{Place: event.InMember, Member: m, Kind: event.Str})
	}
	words := WordsOf(schema)
	p := &Projection{Size: 8}
	p.addWord(words, reg, Word{From: 0})
	p.addWord(words, arg, Word{From: 8, Read: true})
	p.addWord(words, unread, Word{From: 24, Read: true})
	p.addWord(words, text, Word{From: 40, Text: 16})
	p.addWord(words, missing, Word{From: 64, Text: 16})
	rec := make([]byte, 88)
	for at, n := range map[int]uint64{0: 11, 8: 22, 24: 33, 32: 1, 40: 16} {
		binary.LittleEndian.PutUint64(rec[at:], n)
	}
	copy(rec[48:], strings.Repeat("x", 15))
	records := NewRecords(p)
	if records.Show(rec[:80]) != nil || records.Show(rec) == nil {
		t.Error("got a record of less than was sent, or none of all, want one of all")
	}
	hash := []byte("sixteen bytes of")
	chain := func(h []byte) []uint64 { return []uint64{uint64(len(h))} }
	m := (&Projection{Words: words, Stacks: chain}).Members(nil)
	e := &event.Event{Kind: event.Sample, Rec: records.beside(rec, hash)}
	if v, ok := m.Member(e, reg); v != 11 || !ok {
		t.Errorf("got register %d, %t, want 11", v, ok)
	}
	for f, want := range map[event.Member][3]any{
		arg: {uint64(22), true, true}, unread: {uint64(33), false, true}, unsent: {uint64(0), false, false},
	} {
		if v, ok, sent := m.(event.Arguments).Argument(e, f); [3]any{v, ok, sent} != want {
			t.Errorf("argument %d: got %d, %t, %t, want %v", f-event.MemberArg, v, ok, sent, want)
		}
	}
	for f, want := range map[event.Member]string{text: strings.Repeat("x", 12) + "...", missing: ""} {
		got, ok := m.(event.MemberTexts).MemberText(e, f)
		if string(got) != want || ok != (want != "") {
			t.Errorf("got text %q, %t, want %q", got, ok, want)
		}
	}
	got := m.Callchain(e)
	if len(got) != 1 || got[0] != StackKey || string(e.Rec[:StackKey]) != string(hash) {
		t.Errorf("got the stack %v, want that of the hash", got)
	}
}
