package latetext

import (
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	"ppscript/runtime/event"
)

// lateRecord is the record of a text that was read when its call ended.
func lateRecord(k Key, text string) []byte {
	rec := make([]byte, Size)
	binary.LittleEndian.PutUint64(rec[NumberAt:], k.Number)
	binary.LittleEndian.PutUint64(rec[TaskAt:], k.Task)
	binary.LittleEndian.PutUint64(rec[AddrAt:], k.Addr)
	binary.LittleEndian.PutUint64(rec[LengthAt:], uint64(len(text)+1))
	copy(rec[TextAt:], text)
	return rec
}

func TestLateTextsAreFoundByTheirCall(t *testing.T) {
	l := &Texts{texts: map[Key][]byte{}}
	k := Key{monotonic(), 7<<32 | 8, 0x1000}
	l.keep(lateRecord(k, "/etc/hosts"))
	sent := binary.LittleEndian.AppendUint64([]byte(event.UserTextFault+"\x00"), k.Number)
	number, ok := Number(sent)
	if !ok || number != k.Number {
		t.Errorf("got number %d, %v, want %d", number, ok, k.Number)
	}
	if text, ok := l.Text(k); !ok || string(text) != "/etc/hosts" {
		t.Errorf("got %q, %v, want the text of the call's end", text, ok)
	}
	// Another call of the thread, at the same address, is another text.
	l.End()
	k.Number++
	if text, ok := l.Text(k); ok {
		t.Errorf("got %q of another call, want none", text)
	}
	for _, text := range []string{"", "a\x00", "<fault>\x00", "/a/text/of/15/b\x00"} {
		if _, ok := Number([]byte(text)); ok {
			t.Errorf("%q: got a number, want none", text)
		}
	}
}

// What is kept has a bound; the newest stay.
func TestLateTextsAreForgotten(t *testing.T) {
	l := &Texts{texts: map[Key][]byte{}}
	now := monotonic()
	for i := range uint64(3 * lateMost) {
		old := now - uint64(2*lateKept)
		l.keep(lateRecord(Key{old, 1, i}, strconv.Itoa(int(i))))
	}
	last := Key{now, 1, 1}
	l.keep(lateRecord(last, "last"))
	if n := len(l.texts); n > lateMost {
		t.Errorf("got %d texts, want at most %d", n, lateMost)
	}
	if text, ok := l.Text(last); !ok || string(text) != "last" {
		t.Errorf("got %q, %v, want the newest", text, ok)
	}
}

// A call that does not end is not waited for.
func TestLateTextsEndTheWait(t *testing.T) {
	l := &Texts{texts: map[Key][]byte{}}
	l.ring.Shared = make([]byte, 8) // one that stays empty
	begin := time.Now()
	if _, ok := l.Text(Key{Number: monotonic()}); ok || time.Since(begin) < lateWait {
		t.Errorf("got %v after %v, want none after %v", ok, time.Since(begin), lateWait)
	}
	// A busy machine may take its time, but not each time.
	atOnce := func(what string, number func() uint64) {
		t.Helper()
		least := time.Hour
		for tries := 0; tries < 50 && least >= lateWait; tries++ {
			begin = time.Now()
			if _, ok := l.Text(Key{Number: number()}); ok {
				t.Fatalf("%s: got a text", what)
			}
			least = min(least, time.Since(begin))
		}
		if least >= lateWait {
			t.Errorf("%s: got %v at least, want none at once", what, least)
		}
	}
	atOnce("an old call", func() uint64 { return monotonic() - uint64(time.Second) })
	l.End()
	atOnce("after the end", monotonic)
}
