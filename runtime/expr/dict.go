package expr

import "errors"

// errKey is the error of a look-up whose key is not in the dictionary.
var errKey = errors.New("key is not in the dictionary")

// A Dict is a constant dictionary in which keys computed from events are looked up.
// It is the KernelCode of the native "lookup".
type Dict struct {
	// Ints or Texts maps a key to the index of its value in Numbers or Words.
	Ints  map[int64]int
	Texts map[string]int

	Numbers []int64
	Words   [][]byte
	// Otherwise says that the first value is the default for other keys.
	Otherwise bool
}

// NewLookup looks up a key in a dictionary, whose values have the type t.
func NewLookup(d *Dict, key Node, t Type) (Node, error) {
	n := Native{Name: "lookup", Args: []Node{key}, Kernel: d, T: t}
	if t.Kind == Str {
		n.Str = func(f *Frame, a []Arg) []byte { return d.Words[d.find(f, a[0])] }
	} else {
		n.Int = func(f *Frame, a []Arg) int64 { return d.Numbers[d.find(f, a[0])] }
	}
	return NewNative(n)
}

// find returns the index of a key's value.
func (d *Dict) find(f *Frame, key Arg) int {
	var i int
	var ok bool
	if key.Kind == Str {
		i, ok = d.Texts[string(key.S)]
	} else {
		i, ok = d.Ints[key.I]
	}
	if !ok && !d.Otherwise {
		f.Fail(errKey)
	}
	return i
}
