package host

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
)

// A state that grows by a little at each call ends with an error, before it takes
// the machine's memory; one that stays small never does, nor one that holds itself.
func TestStatesAreBounded(t *testing.T) {
	grow := func(add func(list *starlark.List, i int)) error {
		list := starlark.NewList(nil)
		s := &state{names: []string{"list"}, vals: []starlark.Value{list}}
		for i := range 20000 {
			if _, err := s.Attr("list"); err != nil {
				return err
			}
			add(list, i)
		}
		return nil
	}
	text := strings.Repeat("x", 100_000)
	err := grow(func(l *starlark.List, i int) {
		l.Append(starlark.String(text[:99_000] + strings.Repeat("y", i%1000)))
	})
	if err == nil || err.Error() != "state list: it holds more than 256 MiB" {
		t.Errorf("got %v, want that it holds too much", err)
	}
	if err := grow(func(l *starlark.List, i int) { l.Append(starlark.MakeInt(i)) }); err != nil {
		t.Errorf("20000 numbers: %v", err)
	}
	if err := grow(func(l *starlark.List, i int) { l.Append(l) }); err != nil {
		t.Errorf("a list that holds itself: %v", err)
	}
}

func TestHeld(t *testing.T) {
	d := starlark.NewDict(1)
	d.SetKey(starlark.String("key"), starlark.Tuple{starlark.MakeInt(1), starlark.String("1234")})
	s := &state{names: []string{"d", "self"}, vals: []starlark.Value{d, nil}}
	s.vals[1] = s
	// The state, itself again, the dict with 32 bytes for its entry, key and tuple
	// with two values; 7 bytes of text.
	if got, want := sizeOf(s, 256<<20), int64(7*16+32+7); got != want {
		t.Errorf("got %d bytes, want %d", got, want)
	}
}

func BenchmarkStateAttr(b *testing.B) {
	s := &state{names: []string{"n"}, vals: []starlark.Value{starlark.MakeInt(1)}}
	b.ReportAllocs()
	for b.Loop() {
		s.Attr("n")
	}
}
