package symbol

import (
	"encoding/binary"
	"testing"

	"ppscript/runtime/event"
)

// ksymbol is a record of kernel code that came, or went.
func ksymbol(addr uint64, size uint32, name string, gone bool, when event.Time) *event.Event {
	b := []byte{17, 0, 0, 0, 0, 0, 0, 0} // PERF_RECORD_KSYMBOL
	b = binary.LittleEndian.AppendUint64(b, addr)
	b = binary.LittleEndian.AppendUint32(b, size)
	b = append(b, 1, 0, 0, 0)
	if gone {
		b[len(b)-2] = 1
	}
	b = append(b, name...)
	b = append(b, make([]byte, 8-len(name)%8)...)
	binary.LittleEndian.PutUint16(b[6:], uint16(len(b)))
	return &event.Event{Kind: event.Other, Rec: b, Time: when}
}

// A BPF program has a name while it is loaded, and its place another's after.
func TestLoadedCode(t *testing.T) {
	s := New(Options{Kernel: parsed(t, small)})
	const at = 0xffffffffc0900000
	f := func(addr uint64, when event.Time, want string) {
		t.Helper()
		if got := s.Resolve(0, 0, addr, when)[0]; got.Symbol != want || !got.Kernel ||
			want != Unknown && got.DSO != "[bpf]" {
			t.Errorf("%#x at %d: got %+v, want %s", addr, when, got, want)
		}
	}
	f(at, 5, Unknown)
	s.Record(ksymbol(at, 0x100, "bpf_prog_1", false, 10))
	f(at+8, 20, "bpf_prog_1")
	f(at+0x100, 20, Unknown)
	s.Record(ksymbol(at, 0x100, "bpf_prog_1", true, 30))
	s.Record(ksymbol(at, 0x80, "bpf_prog_2", false, 40))
	f(at+8, 25, "bpf_prog_1")
	f(at+8, 35, Unknown)
	f(at+8, 50, "bpf_prog_2")
	f(at+0x90, 50, Unknown)
	if f := s.ResolveReturn(0, 0, at+0x80, 50)[0]; f.Symbol != "bpf_prog_2" || f.Offset != 0x80 {
		t.Errorf("behind the last call: got %+v", f)
	}
	s.Record(ksymbol(0x1000, 0x100, "user", false, 50))
	s.Record(&event.Event{Kind: event.Comm, Rec: []byte{3, 0, 0, 0, 0, 0, 8, 0}})
	if len(s.loaded) != 2 {
		t.Errorf("got %d pieces, want 2", len(s.loaded))
	}
}
