package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// These decoders follow the description of the format, not the encoders.

// bitsAt is the number of width bits that begins at a bit.
func bitsAt(b []byte, at, width int) (v uint64) {
	for i := range width {
		if b[(at+i)/8]>>((at+i)%8)&1 != 0 {
			v |= 1 << i
		}
	}
	return v
}

func zigzag(b []byte) (int64, []byte) {
	n, size := binary.Uvarint(b)
	return int64(n>>1) ^ -int64(n&1), b[size:]
}

func decodeDeltas(b []byte) (vals []int64, err error) {
	var head [3]uint64
	for i := range head {
		n, size := binary.Uvarint(b)
		head[i], b = n, b[size:]
	}
	block, parts, total := int(head[0]), int(head[1]), int(head[2])
	v, b := zigzag(b)
	if total > 0 {
		vals = append(vals, v)
	}
	for len(vals) < total {
		var least int64
		least, b = zigzag(b)
		widths := b[:parts]
		b = b[parts:]
		for _, width := range widths {
			if len(vals) == total {
				if width != 0 {
					return nil, errors.New("a part that is not needed has bits")
				}
				continue
			}
			n := block / parts
			for i := range min(n, total-len(vals)) {
				v += least + int64(bitsAt(b, i*int(width), int(width)))
				vals = append(vals, v)
			}
			b = b[n*int(width)/8:]
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes are left", len(b))
	}
	return vals, nil
}

func decodeHybrid(b []byte, width, total int) (vals []uint32, err error) {
	for len(b) > 0 {
		head, size := binary.Uvarint(b)
		b = b[size:]
		n := int(head >> 1)
		if head&1 == 0 {
			v := uint32(0)
			for i := range (width + 7) / 8 {
				v |= uint32(b[i]) << (8 * i)
			}
			b = b[(width+7)/8:]
			vals = append(vals, slices.Repeat([]uint32{v}, n)...)
			continue
		}
		for i := range n * 8 {
			vals = append(vals, uint32(bitsAt(b, i*width, width)))
		}
		b = b[n*width:]
	}
	if len(vals) < total || len(vals) > total+7 {
		return nil, fmt.Errorf("got %d numbers, want %d", len(vals), total)
	}
	return vals[:total], nil
}

func TestDeltas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cases := [][]int64{{}, {7}, {math.MinInt64, math.MaxInt64, math.MinInt64, 0, -1},
		make([]int64, 1000)}
	for _, n := range []int{1, 2, 31, 32, 33, 127, 128, 129, 130, 1000} {
		for _, most := range []int64{1, 2, 1000, 1 << 40, math.MaxInt64} {
			vals := make([]int64, n)
			for i := range vals {
				vals[i] = r.Int64N(most) - most/2
			}
			cases = append(cases, vals, slices.Sorted(slices.Values(vals)))
		}
	}
	for _, want := range cases {
		got, err := decodeDeltas(appendDeltas(nil, want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v\nwant %v", got, err, want)
		}
	}
}

func TestHybrid(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, width := range []int{1, 2, 3, 7, 8, 9, 16, 17, 31, 32} {
		for _, n := range []int{1, 7, 8, 9, 15, 16, 17, 100, 1000} {
			for _, repeat := range []int{1, 3, 9, 40} { // how long runs are
				want := make([]uint32, n)
				for i := range want {
					if i%repeat != 0 && r.IntN(20) > 0 {
						want[i] = want[i-1]
					} else {
						want[i] = uint32(r.Uint64N(1 << width))
					}
				}
				got, err := decodeHybrid(appendHybrid(nil, want, width), width, n)
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%d numbers of %d bits: got %v, %v\nwant %v", n, width, got, err, want)
				}
			}
		}
	}
}

// TestRunsAreShort checks that runs take a few bytes, however long they are.
func TestRunsAreShort(t *testing.T) {
	if b := appendHybrid(nil, make([]byte, 1<<16), 1); len(b) > 4 {
		t.Errorf("got %d bytes for equal levels, want 4", len(b))
	}
	mixed := make([]uint32, 10_003)
	mixed[0], mixed[2] = 1, 1
	if b := appendHybrid(nil, mixed, 1); len(b) > 12 {
		t.Errorf("got %d bytes for a few numbers and a run, want 12 or less", len(b))
	}
}
