package state_test

import (
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/tests/testkit/bpftest"
)

const keyLen = 16

var stats = load.StatsMap.Of(0)

// share builds a program of a share, whose weight is the first word of the input.
func share(t *testing.T, in, out int, body func(s *state.KeyShare, in, out int16,
	fail assembler.Label)) *bpftest.Program {
	t.Helper()
	b := bpftest.Builder{In: in, Out: out}
	b.Define(load.WeightMap.Of(), state.WeightMap(true))
	b.Define(stats, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(8 * load.Stats(0, 0)),
		MaxEntries: 1})
	return b.OnStack(t, func(c *assembler.Code, in, out int16, fail assembler.Label) {
		body(&state.KeyShare{Code: c, Weight: assembler.Weight(in), Stats: stats}, in, out, fail)
	})
}

// stat is a counter of the program.
func stat(t *testing.T, p *bpftest.Program, n int) uint64 {
	t.Helper()
	value := make([]byte, 8*load.Stats(0, 0))
	if err := p.Map(stats).Lookup(uint32(0), &value); err != nil {
		t.Fatal(err)
	}
	return binary.NativeEndian.Uint64(value[8*n:])
}

// setWeights writes words of the map of weights, by their places.
func setWeights(t *testing.T, p *bpftest.Program, words map[int]uint64) {
	t.Helper()
	m := p.Map(load.WeightMap.Of())
	value := make([]byte, m.ValueSize())
	for at, w := range words {
		binary.NativeEndian.PutUint64(value[at:], w)
	}
	if err := m.Put(uint32(0), value); err != nil {
		t.Fatal(err)
	}
}

// Of keys about one of the weight counts, always the same ones; those of a larger weight are among those
// of a smaller one. It is counted how many came, and for how many the keys that counted stand.
func TestSharesAreNested(t *testing.T) {
	p := share(t, 8+keyLen, 8, func(s *state.KeyShare, in, _ int16, fail assembler.Label) {
		s.Test(in+8, keyLen, fail)
	})
	const keys = 1024
	counts := func(weight uint64, salt uint64) (passed map[uint64]bool) {
		passed = map[uint64]bool{}
		setWeights(t, p, map[int]uint64{0: 1, load.WeightSalt: salt})
		for k := range uint64(keys) {
			_, ok := p.Words(weight, k, k<<32)
			if ok {
				passed[k] = true
			}
		}
		return passed
	}
	if all := counts(1, 5); len(all) != keys {
		t.Errorf("weight 1: got %d keys, want all", len(all))
	}
	if n := stat(t, p, load.StatOffered); n != 0 {
		t.Errorf("weight 1: got %d keys of which some do not count, want none", n)
	}
	before := counts(2, 5)
	for weight := uint64(4); weight <= 64; weight *= 2 {
		offered, stood := stat(t, p, load.StatOffered), stat(t, p, load.StatStood)
		now := counts(weight, 5)
		// The numbers are the same in each run: the salt is.
		if want := keys / int(weight); len(now) < want/2 || len(now) > 2*want {
			t.Errorf("weight %d: got %d keys of %d, want about %d", weight, len(now), keys, want)
		}
		for k := range now {
			if !before[k] {
				t.Errorf("weight %d: key %d counts, and did not for half of that", weight, k)
			}
		}
		if n := stat(t, p, load.StatOffered) - offered; n != keys {
			t.Errorf("weight %d: got %d keys that came, want %d", weight, n, keys)
		}
		if n := stat(t, p, load.StatStood) - stood; n != weight*uint64(len(now)) {
			t.Errorf("weight %d: got %d as for how many they stand, want %d", weight, n,
				weight*uint64(len(now)))
		}
		before = now
	}
	same := 0
	for k := range counts(64, 6) {
		if before[k] {
			same++
		}
	}
	if same > len(before)/2 {
		t.Errorf("another salt: got %d of the same %d keys, want others", same, len(before))
	}
}

// What waits counts if its key counted all the time since. It stands for as many keys as a key
// of the smallest share since then.
func TestSince(t *testing.T) {
	// The input is the weight, the hash, and the moment from which on something waits.
	p := share(t, 24, 8, func(s *state.KeyShare, in, out int16, broken assembler.Label) {
		s.Hash = in + 8
		w := s.Since(in+16, broken)
		s.Code.Load(asm.R0, int16(w))
		s.Code.Store(out, asm.R0)
	})
	// The share was one of 16 until 150, one of 8 until 200, and is one of 4 since. It is told by level
	// since when no key counted for more than 1, 2, 4, ...
	weights := map[int]uint64{0: 4, load.WeightChanged: 200, load.WeightSince: 1 << 62,
		load.WeightSince + 8: 1 << 62, load.WeightSince + 16: 200, load.WeightSince + 24: 150}
	setWeights(t, p, weights)
	f := func(hash, begun, want uint64) {
		t.Helper()
		out, ok := p.Words(4, hash, begun)
		if ok != (want != 0) || ok && out[0] != want {
			t.Errorf("hash %#x since %d: got %d, %t, want %d", hash, begun, out[0], ok, want)
		}
	}
	f(4, 250, 4) // it began with this share
	f(4, 200, 4)
	f(8, 150, 8) // a smaller one was there, of which the key is
	f(4, 150, 0) // and of which it is not
	f(8, 149, 0)
	f(16, 149, 16)
	f(0, 199, 8)
}

// A state whose key did not count all the time since it was made begins anew.
func TestRenew(t *testing.T) {
	// The input is the weight, the hash, and the state: when it was made, and two words.
	p := share(t, 40, 24, func(s *state.KeyShare, in, out int16, _ assembler.Label) {
		c := s.Code
		s.Hash = in + 8
		at := c.Alloc(8)
		c.Addr(asm.R0, in+16)
		c.Store(at, asm.R0)
		s.Renew(at, 0, 8, []uint64{7, 1 << 40})
		for i := int16(0); i < 24; i += 8 {
			c.Load(asm.R0, in+16+i)
			c.Store(out+i, asm.R0)
		}
	})
	weights := map[int]uint64{0: 2, load.WeightChanged: 200}
	for i := range load.WeightLevels {
		weights[load.WeightSince+8*i] = 200
	}
	setWeights(t, p, weights)
	for _, c := range []struct {
		made, a, b uint64
		fresh      bool
		broken     uint64
	}{{300, 1, 2, false, 0}, {100, 7, 1 << 40, true, 1}, {0, 1, 2, true, 1}} {
		out, _ := p.Words(2, 0, c.made, 1, 2)
		if fresh := out[0] != c.made; fresh != c.fresh || out[1] != c.a || out[2] != c.b {
			t.Errorf("made at %d: got %v, want fresh %t, %d, %d", c.made, out, c.fresh, c.a, c.b)
		}
		if n := stat(t, p, load.StatBroken); n != c.broken {
			t.Errorf("made at %d: got %d that were given up, want %d", c.made, n, c.broken)
		}
	}
}
