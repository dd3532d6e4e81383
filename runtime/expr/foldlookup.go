package expr

import "errors"

var errAsk = errors.New("the state of that fold cannot be asked for here")

// Ask is the state that another fold has for a key: its numbers and texts. It fails the
// frame if there is no such fold.
func (f *Frame) Ask(of any, key Arg) (numbers []int64, texts [][]byte) {
	if f.LookUp != nil {
		if numbers, texts, ok := f.LookUp(of, key); ok {
			return numbers, texts
		}
	}
	f.Fail(errAsk)
	return nil, nil
}

// An Asking is what a node asks for: a member of the state of another fold.
type Asking struct {
	Of   any // as NewAsk was told
	Slot int // of its numbers, or of its texts
}

// AsksIn are the nodes in n that ask for states.
func AsksIn(n Node) (asks []*Native) {
	Walk(n, func(n Node) bool {
		if c, ok := n.(*Native); ok && c.Asking() != nil {
			asks = append(asks, c)
		}
		return true
	})
	return asks
}

// Asking is what n asks for; nil if it asks no fold.
func (n *Native) Asking() *Asking {
	a, _ := n.Kernel.(*Asking)
	return a
}

// NewAsk is a member of the state that another fold has for a key: at slot of its numbers,
// or of its texts.
func NewAsk(of any, slot int, t Type, key Node) (Node, error) {
	if k := key.Type(); !k.Numeric() && k.Kind != Str {
		return nil, errors.New("a key that is neither a number nor a text")
	}
	// It is neither folded nor moved: others change the state.
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
