package naming

import (
	"encoding/binary"
	"testing"
)

func TestKernelBuildID(t *testing.T) {
	note := func(name string, typ uint32, desc []byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(len(name)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(desc)))
		b = binary.LittleEndian.AppendUint32(b, typ)
		b = append(b, name...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		b = append(b, desc...)
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		return b
	}
	good := append(note("Linux\x00", 0x100, []byte{1, 2, 3}), note("GNU\x00", 3, []byte{0xab, 0xcd})...)
	for name, c := range map[string]struct {
		notes []byte
		want  string
	}{"found": {good, "abcd"}, "empty": {nil, ""}, "cut": {good[:len(good)-4], ""},
		"other":    {note("GNU\x00", 1, []byte{1}), ""},
		"too long": {note("GNU\x00", 3, nil)[:8], ""}} {
		if got := kernelBuildID(c.notes); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func FuzzKernelBuildID(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00ab\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if id := kernelBuildID(b); len(id) > 2*len(b) {
			t.Errorf("got %d digits of %d bytes", len(id), len(b))
		}
	})
}
