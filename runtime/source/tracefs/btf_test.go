package tracefs

import (
	"encoding/binary"
	"maps"
	"testing"

	"ppscript/tests/testkit"
)

// tinyBTF has an int, a signed enum, an unsigned one and an enum64.
func tinyBTF() []byte {
	var types []byte
	u32 := func(vs ...uint32) {
		for _, v := range vs {
			types = binary.LittleEndian.AppendUint32(types, v)
		}
	}
	strings := "\x00NEG\x00POS\x00BIG\x00U\x00"
	u32(0, 1<<24, 4, 32)                                                   // int
	u32(0, 1<<31|6<<24|2, 4, 1, 0xffffffff, 5, 7)                          // NEG = -1, POS = 7
	u32(0, 4<<24|1, 8, 0, 1, 0)                                            // a struct of one member
	u32(0, 6<<24|1, 4, 13, 0x80000000)                                     // U = 0x80000000
	u32(0, 19<<24|1, 8, 9, 1, 2)                                           // BIG = 2<<32 | 1
	b := []byte{0x9f, 0xeb, 1, 0}                                          // magic, version, flags
	for _, v := range []int{24, 0, len(types), len(types), len(strings)} { // header length, sections
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return append(append(b, types...), strings...)
}

func TestScanEnums(t *testing.T) {
	found := map[string]int64{}
	scanEnums(tinyBTF(), 0, []string{"NEG", "POS", "BIG", "U", "MISSING", "NE"}, found)
	want := map[string]int64{"NEG": -1, "POS": 7, "BIG": 2<<32 | 1, "U": 0x80000000}
	if !maps.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}

func TestLiveEnumerators(t *testing.T) {
	const dir = "/sys/kernel/btf"
	testkit.Requires(t, testkit.BTF)
	got := enumerators(dir, []string{"TCP_ESTABLISHED", "TCP_LISTEN", "PERF_TYPE_TRACEPOINT", "NO_SUCH_NAME"})
	want := map[string]int64{"TCP_ESTABLISHED": 1, "TCP_LISTEN": 10, "PERF_TYPE_TRACEPOINT": 2}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkEnumerators(b *testing.B) {
	for b.Loop() {
		enumerators("/sys/kernel/btf", []string{"I_DIRTY_SYNC", "NO_SUCH_NAME"})
	}
}

func FuzzScanEnums(f *testing.F) {
	f.Add(tinyBTF())
	f.Fuzz(func(t *testing.T, b []byte) {
		found := map[string]int64{}
		scanEnums(b, 0, []string{"NEG", "BIG"}, found)
		if len(found) > 2 {
			t.Errorf("got %d names, want at most the 2 asked for", len(found))
		}
	})
}
