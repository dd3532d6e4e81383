package load

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"ppscript/tests/testkit"
)

// Of stacks that folds hold the oldest lose their numbers when half the room is taken, but
// runOf is a run with maps that has no programs; must ends the test with an error.
func runOf(t *testing.T, im *Image, maps map[MapID]*ebpf.MapSpec) (r *Run, must func(error)) {
	t.Helper()
	must = func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r = &Run{im: im, maps: map[MapID]*ebpf.Map{}, cpus: 1}
	for id, spec := range maps {
		m, err := ebpf.NewMap(spec)
		must(err)
		t.Cleanup(func() { m.Close() })
		r.maps[id] = m
	}
	return r, must
}

// TestHeldStacksAreLetGo checks that the number of a held stack is let go once no state has it.
// The stack itself stays a while longer.
func TestHeldStacksAreLetGo(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	const room = 64
	states := FoldMap.Of(0)
	r, must := runOf(t, &Image{Folds: []Fold{{States: states, Holds: true}}}, map[MapID]*ebpf.MapSpec{
		HeldMap.Of():        {Type: ebpf.Hash, KeySize: 4, ValueSize: ChainWords, MaxEntries: room},
		HeldNumbersMap.Of(): {Type: ebpf.Hash, KeySize: StackKey, ValueSize: 8, MaxEntries: room},
		HeldCountMap.Of():   {Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1},
		states:              {Type: ebpf.Hash, KeySize: 8, ValueSize: 32, MaxEntries: room},
	})
	given := uint64(0)
	hold := func(n int) {
		t.Helper()
		for range n {
			given++
			hash := [StackKey]byte{}
			binary.LittleEndian.PutUint64(hash[:], given*7)
			must(r.maps[HeldNumbersMap.Of()].Put(hash, given))
			must(r.maps[HeldMap.Of()].Put(uint32(given), [ChainWords]byte{}))
		}
		must(r.maps[HeldCountMap.Of()].Put(uint32(0), given))
	}
	count := func(id MapID) (n int) {
		t.Helper()
		must(r.words(id).walk(func([]byte, []uint64) { n++ }))
		return n
	}
	want := func(numbers, stacks int) {
		t.Helper()
		if n, s := count(HeldNumbersMap.Of()), count(HeldMap.Of()); n != numbers || s != stacks {
			t.Errorf("got %d numbers and %d stacks, want %d and %d", n, s, numbers, stacks)
		}
	}
	now := time.Unix(1000, 0)

	hold(room/2 - 1)
	must(holders{r}.sweep(now))
	want(room/2-1, room/2-1)

	// The second and the third are in a state.
	must(r.maps[states].Put(uint64(1), [4]uint64{2, 0, 3, 1 << 40}))
	hold(1)
	must(holders{r}.sweep(now))
	want(room/8, room/2)
	for _, held := range []uint64{2, 3} {
		var key [StackKey]byte
		binary.LittleEndian.PutUint64(key[:], held*7)
		var number uint64
		if r.maps[HeldNumbersMap.Of()].Lookup(key, &number) != nil || number != held {
			t.Errorf("stack %d, which a state holds, has lost its number", held)
		}
	}

	// One whose number is gone was put into a state at the last moment.
	must(r.maps[states].Put(uint64(2), [4]uint64{5}))
	must(holders{r}.sweep(now.Add(heldGrace / 2)))
	want(room/8, room/2)
	must(holders{r}.sweep(now.Add(heldGrace)))
	want(room/8, room/8+1)
	if s, err := HeldStack(r, 5); s == nil || err != nil {
		t.Errorf("got %v and %v, want the stack that a state holds", s, err)
	}

	// Once it is not held, it goes.
	must(r.maps[states].Delete(uint64(2)))
	must(holders{r}.sweep(now.Add(2 * heldGrace)))
	want(room/8, room/8)
}
