package expr

import "errors"

var errAsk = errors.New("the state of that fold cannot be asked for here")

// Ask returns the state of another fold for a key: its numbers and texts. The
// evaluation fails if there is no such fold or key.
func (f *Frame) Ask(of any, key Arg) (numbers []int64, texts [][]byte) {
	if f.LookUp != nil {
		if numbers, texts, ok := f.LookUp(of, key); ok {
			return numbers, texts
		}
	}
	f.Fail(errAsk)
	return nil, nil
}

// An Asking identifies a member of another fold's state that a node reads.
type Asking struct {
	Of   any // the fold, as given to NewAsk
	Slot int // index among its numbers, or its texts
}

// AsksIn lists the nodes in n that read another fold's state.
func AsksIn(n Node) (asks []*Native) {
	Walk(n, func(n Node) bool {
		if c, ok := n.(*Native); ok && c.Asking() != nil {
			asks = append(asks, c)
		}
		return true
	})
	return asks
}

// Asking returns the member that n reads; nil if n reads no other fold's state.
func (n *Native) Asking() *Asking {
	a, _ := n.Kernel.(*Asking)
	return a
}

// NewAsk reads a member of another fold's state for a key: a slot of its numbers, or of
// its texts if t is Str.
func NewAsk(of any, slot int, t Type, key Node) (Node, error) {
	if k := key.Type(); !k.Numeric() && k.Kind != Str {
		return nil, errors.New("a key that is neither a number nor a text")
	}
	// It is an effect, so that it is neither folded nor moved: the state
	// changes.
	n := &Native{Name: "at", T: t, Args: []Node{key}, Kernel: &Asking{of, slot},
		Effect: true}
	if t.Kind == Str {
		n.Str = func(f *Frame, args []Arg) []byte {
			_, texts := f.Ask(of, args[0])
			if f.Err != nil || slot >= len(texts) {
				f.Fail(ErrMissing)
				return nil
			}
			return f.Keep(append(f.Scratch(), texts[slot]...))
		}
		return n, nil
	}
	n.Int = func(f *Frame, args []Arg) int64 {
		numbers, _ := f.Ask(of, args[0])
		if f.Err != nil || slot >= len(numbers) {
			f.Fail(ErrMissing)
			return 0
		}
		return numbers[slot]
	}
	return n, nil
}
