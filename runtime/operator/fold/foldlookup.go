package fold

import (
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/key"
)

// This file lets other operators read states.

// initials is the state reported for keys without one.
type initials struct {
	texts  [][]byte
	asking []byte // a key, as it is packed
}

// Ask returns the present state of a key, valid until the next event; the initial state if
// the key is unknown. It returns false if the key is of another kind.
func (f *Fold) Ask(k expr.Arg) (numbers []int64, texts [][]byte, ok bool) {
	r := int32(key.None)
	switch p := f.spec.Key.Any(); {
	case f.keys.ints != nil:
		if k.Kind == expr.Str {
			return nil, nil, false
		}
		r = f.keys.ints.Find(k.I)
	case k.Kind == expr.Str && p.Type.Kind == expr.Str:
		f.asking = key.AppendText(f.asking[:0], k.S)
		r = f.keys.texts.Find(f.asking)
	default:
		return nil, nil, false
	}
	if r < 0 {
		return f.spec.Init, f.initials.texts, true
	}
	at, n := int(r)*f.state.stride, len(f.spec.Texts)
	return f.state.rows[at+rowHead : at+f.state.stride], f.state.names[int(r)*n : int(r+1)*n], true
}

// Numbers calls fn for each number in the states.
func (f *Fold) Numbers(fn func(v int64)) {
	for at := 0; at < len(f.state.rows); at += f.state.stride {
		if f.state.rows[at+rowMeta] == 0 {
			continue
		}
		for _, v := range f.state.rows[at+rowHead : at+f.state.stride] {
			fn(v)
		}
	}
}

// Len is the number of keys that have a state.
func (f *Fold) Len() int {
	if f.keys.ints != nil {
		return f.keys.ints.Len()
	}
	return f.keys.texts.Len()
}
