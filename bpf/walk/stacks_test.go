package walk

import (
	"encoding/binary"
	"math/rand"
	"slices"
	"testing"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/tests/testkit/bpftest"
)

// room is for addresses of each part of a stack of these tests.
const room = 6

// A call is a stack as a program finds it in its memory.
type call struct {
	pid, image   uint32
	kernel, user []uint64
	behind       uint64 // a word that no size tells of
}

func (s call) memory() []byte {
	b := make([]byte, load.ChainWords+16*room)
	put := func(at int, v uint64) { binary.NativeEndian.PutUint64(b[at:], v) }
	put(load.ChainTask, uint64(s.pid)|uint64(s.image)<<32)
	put(load.ChainKernel, uint64(8*len(s.kernel)))
	put(load.ChainUser, uint64(8*len(s.user)))
	put(load.ChainMax, room)
	for i := range 2 * room {
		put(load.ChainWords+8*i, s.behind)
	}
	for i, addr := range s.kernel {
		put(load.ChainWords+8*i, addr)
	}
	for i, addr := range s.user {
		put(load.ChainWords+8*(room+i), addr)
	}
	return b
}

// keeper is a program that hashes a stack, keeps it, and holds it by number.
func keeper(t *testing.T, most uint32) (p *bpftest.Program,
	keep func(s call) (hash [2]uint64, number uint64, ok bool)) {
	t.Helper()
	w := &Stacks{Kernel: room, User: room}
	b := bpftest.Builder{In: load.ChainWords + 16*room, Out: 24}
	kept := w.MapSpec()
	kept.MaxEntries = most
	b.Define(load.StacksMap.Of(0), kept)
	stacks, numbers, count := w.HeldMaps()
	stacks.MaxEntries, numbers.MaxEntries = most, most
	b.Define(load.HeldMap.Of(), stacks)
	b.Define(load.HeldNumbersMap.Of(), numbers)
	b.Define(load.HeldCountMap.Of(), count)
	b.Define(load.FreshMap.Of(), FreshMap())
	p = b.Build(t, func(c *assembler.Code, fail assembler.Label) {
		w.Code = c
		key := c.Alloc(load.StackKey)
		c.MapValue(asm.R7, bpftest.Input, 0)
		w.hash(key)
		w.Keep(key, 0, fail)
		w.EmitNumber(key, fail)
		c.MapValue(asm.R1, bpftest.Output, 0)
		c.Emit(asm.StoreMem(asm.R1, 16, asm.R0, asm.DWord))
		for i := int16(0); i < load.StackKey; i += 8 {
			c.Load(asm.R0, key+i)
			c.Emit(asm.StoreMem(asm.R1, i, asm.R0, asm.DWord))
		}
	})
	return p, func(s call) ([2]uint64, uint64, bool) {
		t.Helper()
		out, ok := p.Run(s.memory())
		word := func(at int) uint64 { return binary.NativeEndian.Uint64(out[at:]) }
		return [2]uint64{word(0), word(8)}, word(16), ok
	}
}

// TestStacksAreToldApart checks that each stack is kept once under its hash, and has one number;
// stacks that differ in anything are others.
func TestStacksAreToldApart(t *testing.T) {
	p, keep := keeper(t, 64)
	base := call{pid: 7, image: 1, kernel: []uint64{1 << 63, 2}, user: []uint64{0x400, 0x500, 0x600}}
	with := func(change func(s *call)) call {
		s := base
		s.kernel, s.user = slices.Clone(s.kernel), slices.Clone(s.user)
		change(&s)
		return s
	}
	stacks := []call{
		base,
		with(func(s *call) { s.pid = 8 }),
		with(func(s *call) { s.image = 2 }),
		with(func(s *call) { s.kernel = s.kernel[:1] }),
		with(func(s *call) { s.user = s.user[:2] }),
		with(func(s *call) { s.user[1]++ }),
		with(func(s *call) { slices.Reverse(s.user) }),
		with(func(s *call) { s.kernel, s.user = s.user, s.kernel }),
		with(func(s *call) { s.kernel = nil }),
		{kernel: []uint64{1 << 63}},
		{kernel: []uint64{0}},
		{kernel: []uint64{0, 0}},
	}
	for round := range 2 {
		seen := map[[2]uint64]bool{}
		for i, s := range stacks {
			s.behind = uint64(round) // is no part of it
			hash, number, ok := keep(s)
			if !ok || seen[hash] || number != uint64(i+1) {
				t.Errorf("round %d, stack %d: got hash %x, number %d, %t, want a hash of its own and %d",
					round, i, hash, number, ok, i+1)
			}
			seen[hash] = true
			for _, kept := range [][]byte{
				value(t, p, load.StacksMap.Of(0), bpftest.Bytes(hash[:]...)),
				value(t, p, load.HeldMap.Of(), binary.NativeEndian.AppendUint32(nil, uint32(number))),
			} {
				s.behind = 0 // as it was when it was kept
				want := s.memory()
				if at := binary.NativeEndian.Uint64(kept[load.ChainTime:]); at == 0 {
					t.Errorf("stack %d: it has no time", i)
				}
				copy(want[load.ChainTime:][:8], kept[load.ChainTime:])
				if !slices.Equal(kept, want) {
					t.Errorf("stack %d: got %x, want %x", i, kept, want)
				}
			}
		}
	}
	var pids []uint32
	var pid uint32
	for all := p.Map(load.FreshMap.Of()).Iterate(); all.Next(&pid, new(uint64)); {
		pids = append(pids, pid)
	}
	if slices.Sort(pids); !slices.Equal(pids, []uint32{7, 8}) {
		t.Errorf("got processes %d of new stacks, want 7 and 8", pids)
	}
}

func value(t *testing.T, p *bpftest.Program, id load.MapID, key []byte) []byte {
	t.Helper()
	v, err := p.Map(id).LookupBytes(key)
	if err != nil || v == nil {
		t.Fatalf("%s: got no %x, %v", id, key, err)
	}
	return v
}

// TestNoStack checks that nothing is no stack: it has no hash and no number, and is not kept.
func TestNoStack(t *testing.T) {
	p, keep := keeper(t, 4)
	if hash, number, ok := keep(call{pid: 7, behind: 9}); hash != [2]uint64{} || number != 0 || !ok {
		t.Errorf("got hash %x, number %d, %t, want nothing", hash, number, ok)
	}
	kept := p.Map(load.StacksMap.Of(0)).Iterate()
	if kept.Next(new([load.StackKey]byte), new([load.ChainWords + 16*room]byte)) {
		t.Error("it is kept")
	}
}

// TestFullMaps checks that stacks that find no room fail, and known ones do not.
func TestFullMaps(t *testing.T) {
	_, keep := keeper(t, 2)
	for i, want := range []bool{true, true, false, false} {
		if _, _, ok := keep(call{kernel: []uint64{uint64(i + 1)}}); ok != want {
			t.Errorf("stack %d: got %t, want %t", i, ok, want)
		}
	}
	if _, number, ok := keep(call{kernel: []uint64{2}}); !ok || number != 2 {
		t.Errorf("a known one: got number %d, %t, want 2", number, ok)
	}
}

// TestHashesAreSpread checks that stacks of one program, which differ in few bits, have hashes of
// their own.
func TestHashesAreSpread(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	_, keep := keeper(t, 4096)
	seen := map[[2]uint64]bool{}
	halves := [2]map[uint32]int{{}, {}}
	const stacks = 3000
	for i := range stacks {
		user := []uint64{0x55550000_0000 + uint64(i)*16}
		for range r.Intn(room) {
			user = append(user, 0x55550000_0000+uint64(r.Intn(4))*16)
		}
		hash, _, ok := keep(call{pid: 7, user: user})
		if !ok {
			t.Fatalf("stack %d: the program failed", i)
		}
		seen[hash] = true
		for k := range halves {
			halves[k][uint32(hash[k])]++
		}
	}
	// Of 3,000 numbers of 32 bits two are the same in one of 1,000 runs; the seed is fixed.
	if len(seen) != stacks || len(halves[0]) < stacks-1 || len(halves[1]) < stacks-1 {
		t.Errorf("got %d hashes, %d and %d lower halves, want %d", len(seen), len(halves[0]),
			len(halves[1]), stacks)
	}
}
