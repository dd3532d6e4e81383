package load

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"

	"ppscript/runtime/record/sent"
	"ppscript/tests/testkit"
)

// TestLongTextsAreTakenAway checks that texts are taken away when half of their room is taken, and
// known all the same; texts that were taken away twice ago are forgotten.
func TestLongTextsAreTakenAway(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	const room, size = 16, 512
	r, must := runOf(t, &Image{}, map[MapID]*ebpf.MapSpec{
		LongTextsMap.Of(): {Type: ebpf.Hash, KeySize: sent.LongKey, ValueSize: size, MaxEntries: room},
		LongCountMap.Of(): {Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1},
	})
	hash := func(n uint64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, n), ^n)
	}
	text := func(n uint64) []byte { return bytes.Repeat([]byte{'a' + byte(n%26)}, 200+int(n)) }
	made := uint64(0)
	keep := func(n int) {
		t.Helper()
		for range n {
			made++
			var v [size]byte
			copy(v[:], text(made))
			must(r.maps[LongTextsMap.Of()].Put(hash(made), v))
		}
		must(r.maps[LongCountMap.Of()].Put(uint32(0), made))
		must(reader{r}.sweep())
	}
	want := func(there int, known ...uint64) {
		t.Helper()
		n := 0
		must(r.words(LongTextsMap.Of()).walk(func([]byte, []uint64) { n++ }))
		if n != there {
			t.Errorf("got %d texts in the kernel, want %d", n, there)
		}
		for _, k := range known {
			if got := LongText(r, hash(k)); !bytes.Equal(got, text(k)) {
				t.Errorf("text %d: got %q", k, got)
			}
		}
	}
	keep(room/2 - 1)
	want(room/2-1, 1)
	keep(1)
	want(0, 1, 2, room/2)
	keep(room / 2)
	want(0, 1, room/2, room/2+1, room)
	keep(room / 2)
	want(0, room/2+1, room+1)
	if got := LongText(r, hash(3)); got != nil {
		t.Errorf("a text that nobody asked for since: got %q, want none", got)
	}
}
