package relay

import (
	"strings"
	"testing"
)

// learn takes whole EVENT_UPDATE records.
func learn(t *testing.T, s *Stacks, records []byte) {
	t.Helper()
	for len(records) > 0 {
		size := int(le.Uint16(records[6:]))
		if err := s.update(le.Uint64(records[8:]), le.Uint64(records[16:]), records[24:size]); err != nil {
			t.Fatal(err)
		}
		records = records[size:]
	}
}

// TestLearntStacksAreBounded checks that memory is bounded for any input, with and without calls
// of Find.
func TestLearntStacksAreBounded(t *testing.T) {
	s := NewStacks(1)
	s.bound = 1 << 20
	d := newDefinitions(1, 0)
	var first, last uint64
	for n := range 50_000 {
		if d.full() {
			learn(t, s, d.records())
			d.begin()
		}
		last = d.stack(callers(n))
		if first == 0 {
			first = last
		}
	}
	learn(t, s, d.records())
	if s.size > s.bound || len(s.epochs) < 2 || s.Find(first) != nil ||
		textOf(s.Find(last)) != textOf(callers(49_999)) {
		t.Errorf("got %d bytes in %d epochs, want at most %d, the last stack and not the first", s.size,
			len(s.epochs), s.bound)
	}
	if s.Ignore(); s.size != 0 || s.Find(last) != nil {
		t.Error("got stacks that nobody asks for")
	}
	d.begin()
	d.stack(callers(1))
	if learn(t, s, d.records()); s.size != 0 {
		t.Error("got stacks that nobody asks for")
	}
	// One epoch alone is refused.
	big, whole := NewStacks(1), newDefinitions(1, 1<<30)
	big.bound = 1 << 20
	for n := range 50_000 {
		whole.stack(callers(n))
	}
	records := whole.records()
	var err error
	for len(records) > 0 && err == nil {
		size := int(le.Uint16(records[6:]))
		err = big.update(le.Uint64(records[8:]), 1, records[24:size])
		records = records[size:]
	}
	if err == nil || !strings.Contains(err.Error(), "in one epoch") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestDamagedDefinitions(t *testing.T) {
	for body, why := range map[string]string{
		"\x01\x01f":                        "before the first epoch",
		"\x04\x01\x01\x05f":                "is cut",
		"\x04\x01\x02\x03\x00\x00":         "got number 3",
		"\x04\x01\x03\x00\x01\x01":         "got number 1",
		"\x04\x01\x03\x00\x01\x00":         "was not defined",
		"\x04\x01\x07":                     "kind of definition: got 7",
		"\x04\x01\x00\x01":                 "kind 0",
		"\x04\x02\x04\x02":                 "epoch: got 2 after 2",
		"\x04\x01\x01\xff\xff\xff\xff\xff": "is cut",
	} {
		if err := NewStacks(0).update(stackKind|stackVersion<<kindVersion, 1, []byte(body)); err == nil ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %v, want %s", body, err, why)
		}
	}
}

// FuzzStacks decodes any bytes: within bounds, without a panic, and decoded
// stacks can be defined again and are the same.
func FuzzStacks(f *testing.F) {
	d := newDefinitions(1, 0)
	for n := range 20 {
		d.stack(callers(n))
	}
	whole := d.records()
	f.Add(whole[24:])
	f.Add([]byte("\x04\x01\x01\x01f\x02\x02\x05\x01\x01\x00\x00\x00\x00\x00\x00\x03\x00\x01\x01\x00\x00"))
	f.Add([]byte("\x04\x01\x04\x02\x03\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewStacks(0)
		err := s.update(stackKind|stackVersion<<kindVersion, 1, b)
		if s.size > 32*len(b)+64 {
			t.Fatalf("got %d bytes out of %d", s.size, len(b))
		}
		if err != nil {
			return
		}
		again, back := newDefinitions(1, 0), NewStacks(0)
		for _, e := range s.epochs {
			for i, st := range e.stacks {
				if s.Find(numberIn(e.number, i+1)) != st {
					continue // of an epoch that was forgotten
				}
				n := again.stack(st)
				learn(t, back, again.records())
				if got := back.Find(n); got == nil || textOf(got) != textOf(st) {
					t.Fatalf("got %s, want %s", textOf(got), textOf(st))
				}
				again.begin()
			}
		}
	})
}
