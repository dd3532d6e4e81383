package state_test

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/operator/agg"
	"ppscript/tests/testkit/bpftest"
)

// rowAt is the map with the row of a test, which stays from run to run.
var rowAt = load.RowsMap.Of(0, 0, 0)

// counting is a program that counts a number, the first word of its input, with a weight, the second one,
// in a row of so many words.
func counting(t *testing.T, words int, count func(c *assembler.Code,
	weight assembler.Weight)) (add func(n int64,
	weight uint64), row func() []uint64) {
	t.Helper()
	b := bpftest.Builder{In: 16, Out: 8}
	b.Define(rowAt, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(8 * words), MaxEntries: 1})
	p := b.OnStack(t, func(c *assembler.Code, in, _ int16, _ assembler.Label) {
		c.MapValue(asm.R7, rowAt, 0)
		c.Load(asm.R0, in)
		count(c, assembler.Weight(in+8))
	})
	return func(n int64, weight uint64) { p.Words(uint64(n), weight) }, func() []uint64 {
		value := make([]uint64, words)
		if err := p.Map(rowAt).Lookup(uint32(0), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
}

var numbers = []int64{0, 1, -1, 2, 3, 4, 5, 99, 100, 101, 1 << 31, math.MaxInt64, math.MinInt64, -50}

// A number is in the bucket of its bit length, a negative one in the first one, the longest ones in the
// last one, as often as its weight says.
func TestHistogram(t *testing.T) {
	at := &load.Arg{Hist: 8, Buckets: 65}
	for _, unsigned := range []bool{false, true} {
		add, row := counting(t, 66, func(c *assembler.Code, w assembler.Weight) {
			state.Histogram(c, at, &agg.Agg{Op: agg.Hist}, unsigned, w)
		})
		want := make([]uint64, 66)
		for i, n := range numbers {
			add(n, uint64(1+i))
			in := min(bits.Len64(uint64(n))+1, 64)
			if n < 0 && !unsigned {
				in = 0
			}
			want[1+in] += uint64(1 + i)
		}
		for i, got := range row() {
			if got != want[i] {
				t.Errorf("unsigned %t, bucket %d: got %d, want %d", unsigned, i-1, got, want[i])
			}
		}
	}
}

// TestLinearHistogram checks that linear buckets begin at Lo, with one below them, and one behind
// Hi.
func TestLinearHistogram(t *testing.T) {
	a := &agg.Agg{Op: agg.LHist, Lo: -50, Hi: 101, Step: 50} // the last one is narrower than Step
	at := &load.Arg{Hist: 0, Buckets: 6}
	add, row := counting(t, 6, func(c *assembler.Code, _ assembler.Weight) {
		state.Histogram(c, at, a, false, 0)
	})
	for _, n := range numbers {
		add(n, 0)
	}
	want := []uint64{1, 2, 6, 1, 1, 3}
	for i, got := range row() {
		if got != want[i] {
			t.Errorf("bucket %d: got %d, want %d", i, got, want[i])
		}
	}
}

// The first values of a row are kept as they are, values that follow in log-linear buckets.
func TestSketch(t *testing.T) {
	sketch := load.SketchMap.Of(0, 0, 0)
	unit := &load.Unit{Sketch: []load.MapID{sketch},
		Table: &load.Table{Value: load.Value{Args: []load.Arg{{N: 0}, {N: 8}}}}}
	b := bpftest.Builder{In: 16, Out: 8}
	b.Define(rowAt, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	b.Define(sketch, &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 16, ValueSize: 8, MaxEntries: 500})
	p := b.OnStack(t, func(c *assembler.Code, in, _ int16, fail assembler.Label) {
		c.MapValue(asm.R7, rowAt, 0)
		c.Emit(asm.LoadMem(asm.R1, asm.R7, 8, asm.DWord), asm.Add.Imm(asm.R1, 1),
			asm.StoreMem(asm.R7, 8, asm.R1, asm.DWord))
		c.Load(asm.R0, in)
		state.Sketch(c, unit, 0, 1, false, 0, fail)
	})
	exact, counted := map[int64]uint64{}, map[uint64]uint64{}
	for i := range int64(2 * agg.ExactValues) {
		v := (i%3 - 1) * (150000 + i%5) // some twice
		if _, ok := p.Words(uint64(v), 0); !ok {
			t.Fatal("got no room")
		}
		if i < agg.ExactValues {
			exact[v]++
			continue
		}
		key := uint64(1<<load.SketchArg | agg.Bucket(uint64(max(v, -v))))
		if v < 0 {
			key |= 1 << load.SketchNeg
		}
		counted[key]++
	}
	var key [2]uint64
	var row, n uint64
	for each := p.Map(sketch).Iterate(); each.Next(&key, &n); {
		if row == 0 {
			row = key[0] - key[0]&1*(8+load.SketchExact)
		}
		switch key[0] {
		case row + 8 + load.SketchExact:
			if want := exact[int64(key[1])]; n != want {
				t.Errorf("value %d: got %d times, want %d", int64(key[1]), n, want)
			}
			delete(exact, int64(key[1]))
		case row:
			if want := counted[key[1]]; n != want {
				t.Errorf("bucket %#x: got %d, want %d", key[1], n, want)
			}
			delete(counted, key[1])
		default:
			t.Errorf("got key %#x, want one of row %#x", key, row)
		}
	}
	if len(exact)+len(counted) > 0 {
		t.Errorf("got none of values %v, buckets %v", exact, counted)
	}
}

func TestExtreme(t *testing.T) {
	// The words of the row: how many there were, the least, the greatest.
	add, row := counting(t, 3, func(c *assembler.Code, _ assembler.Weight) {
		c.Emit(asm.LoadMem(asm.R1, asm.R7, 0, asm.DWord))
		state.Extreme(c, 8, asm.JSGE)
		state.Extreme(c, 16, asm.JSLE)
		state.Extreme(c, -1, asm.JSLE)
		c.Emit(asm.Add.Imm(asm.R1, 1), asm.StoreMem(asm.R7, 0, asm.R1, asm.DWord))
	})
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, n := range []int64{5, 7, -3, 6, math.MinInt64, math.MaxInt64} {
		add(n, 1)
		least, most = min(least, n), max(most, n)
		if got := row(); int64(got[1]) != least || int64(got[2]) != most {
			t.Errorf("after %d: got %d to %d, want %d to %d", n, int64(got[1]), int64(got[2]), least, most)
		}
	}
}

// TestSum checks that weighted sums are w times each value, and their spreads w(w-1) times its
// square, of large values without the last bits.
func TestSum(t *testing.T) {
	at := &load.Arg{N: 0, Sum: 8, Spread: 24}
	add, row := counting(t, 6, func(c *assembler.Code, w assembler.Weight) {
		state.Sum(c, at, true, false, w, 0)
	})
	f := func(what string, want ...uint64) {
		t.Helper()
		got := row()
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: got %d, want %d", what, got, want)
				return
			}
		}
	}
	add(10, 1)
	f("a sure one", 1, 10, 0, 0, 0, 0)
	add(-3, 4)
	f("one of four", 5, 1<<64-2, 1<<64-1, 12, 12*9, 0)
	add(1<<20, 2)
	f("a large one", 7, 1<<21-2, 0, 14, 108, 2*(1<<20>>16)*(1<<20>>16))
	add(-1<<20, 2)
	f("a large negative one", 9, 1<<64-2, 1<<64-1, 16, 108, 4*16*16)

	add, row = counting(t, 3, func(c *assembler.Code, _ assembler.Weight) {
		state.Sum(c, at, true, false, 0, 0)
	})
	add(10, 7)
	add(-3, 7)
	f("without weights", 2, 7, 0)
}

// Sums of two words equal the sums of big integers, of signed and unsigned numbers, with weights and without.
func TestSumsHave128Bits(t *testing.T) {
	at := &load.Arg{N: 0, Sum: 8, Spread: 24}
	r := rand.New(rand.NewPCG(5, 6))
	for _, unsigned := range []bool{false, true} {
		for _, weighed := range []bool{false, true} {
			add, row := counting(t, 6, func(c *assembler.Code, w assembler.Weight) {
				if !weighed {
					w = 0
				}
				state.Sum(c, at, true, unsigned, w, 0)
			})
			want := new(big.Int)
			for i := range 300 {
				n, weight := int64(r.Uint64()>>r.IntN(64)), 1+r.Uint64N(1<<31)
				if i < len(numbers) {
					n = numbers[i]
				}
				add(n, weight)
				x := big.NewInt(n)
				if unsigned {
					x.SetUint64(uint64(n))
				}
				if weighed {
					x.Mul(x, new(big.Int).SetUint64(weight))
				}
				want.Add(want, x)
				words := row()
				got := new(big.Int).Lsh(big.NewInt(int64(words[2])), 64)
				got.Add(got, new(big.Int).SetUint64(words[1]))
				if got.Cmp(want) != 0 {
					t.Fatalf("unsigned %t, weighed %t, after %d times %d: got %v, want %v", unsigned, weighed, n,
						weight, got, want)
				}
			}
		}
	}
}

// A key that comes first to a slot keeps it; others with the same place go elsewhere. Keys are numbers that
// follow one another, or such numbers far apart, with another word.
func TestSlot(t *testing.T) {
	slots := load.SlotsMap.Of(0, 0, 0)
	for words, far := range map[int]uint{1: 0, 2: 32} {
		table := &load.Table{KeyLen: 8 * words, Cols: make([]load.Column, words), Value: load.Value{Size: 16}}
		b := bpftest.Builder{In: 8 * words, Out: 16}
		b.Define(slots, &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(16 + 8*words),
			MaxEntries: state.RowSlots})
		p := b.OnStack(t, func(c *assembler.Code, in, out int16, other assembler.Label) {
			found := c.Label()
			state.RowSlot(c, table, slots, in, found)
			c.GoTo(other)
			c.Place(found)
			c.Emit(asm.LoadMem(asm.R1, asm.R0, load.HitsAt, asm.DWord), asm.Add.Imm(asm.R1, 1),
				asm.StoreMem(asm.R0, load.HitsAt, asm.R1, asm.DWord))
			c.Store(out, asm.R1)
			c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(8+8*words), asm.DWord))
			c.Store(out+8, asm.R1)
		})
		const keys = 4 * state.RowSlots
		mine, taken := map[uint64]bool{}, 0
		for round := range uint64(2) {
			for key := range uint64(keys) {
				last := key << far
				out, ok := p.Words([]uint64{7, last}[2-words:]...)
				if round == 0 {
					mine[key] = ok
					if ok {
						taken++
					}
				}
				if ok != mine[key] || ok && (out[0] != round+1 || out[1] != last) {
					t.Fatalf("key %d of %d words, round %d: got %v, %t, want %d, %d, %t", key, words, round, out,
						ok, round+1, last, mine[key])
				}
			}
		}
		// Places that are spread by chance leave 2 % of the slots free.
		if taken < state.RowSlots*9/10 || taken > state.RowSlots {
			t.Errorf("%d words: got %d slots that are taken, want most of %d", words, taken, state.RowSlots)
		}
	}
}
