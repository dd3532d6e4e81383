package expr

import (
	"encoding/hex"
	"strconv"
)

// lowerMask prints a bitmask: as groups of 32 bits in hex (%*pb), or as the
// list of its members (%*pbl), which is what a CPU mask is shown as.
func lowerMask(list bool) func(*Call) (Node, error) {
	return func(k *Call) (Node, error) {
		f, err := k.Field(0)
		if err != nil {
			return nil, err
		}
		b, err := NewFieldView(f, Self, ViewBytes)
		if err != nil {
			return nil, k.Errorf(0, "%v", err)
		}
		name, fn := "bitmask", appendMask
		if list {
			name, fn = "bitlist", appendList
		}
		return NewNative(Native{Name: name, T: TStr, Args: []Node{b},
			Str: func(f *Frame, a []Arg) []byte { return f.Keep(fn(f.Scratch(), a[0].S)) }})
	}
}

// appendMask prints the most significant group first.
func appendMask(b, mask []byte) []byte {
	for n := len(mask) / 4 * 4; n >= 4; n -= 4 {
		w := mask[n-4 : n]
		b = hex.AppendEncode(b, []byte{w[3], w[2], w[1], w[0]})
		if n > 4 {
			b = append(b, ',')
		}
	}
	return b
}

// appendList prints "0-3,7".
func appendList(b, mask []byte) []byte {
	bit := func(i int) bool { return i < len(mask)*8 && mask[i/8]>>(i%8)&1 != 0 }
	first := true
	for i := 0; i < len(mask)*8; i++ {
		if !bit(i) {
			continue
		}
		from := i
		for bit(i + 1) {
			i++
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = strconv.AppendInt(b, int64(from), 10)
		if i > from {
			b = strconv.AppendInt(append(b, '-'), int64(i), 10)
		}
	}
	return b
}
