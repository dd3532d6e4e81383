package expr

import "ppscript/runtime/event"

// A Node is one node of the IR. Nodes are made by the New functions, which
// check types and fold constants, are not changed afterwards, and may be
// shared. Back ends switch over the types of this file.
type Node interface {
	Type() Type
	String() string
}

// Part says which event of a Frame a node reads. A pair's start or end may be a
// pair itself: each step takes two bits, the first step in the lowest.
type Part uint8

const (
	Self  Part = iota // Frame.Event
	Start             // Frame.Event.Derived.Start
	End               // Frame.Event.Derived.End

	partBits = 2 // bits of a step
	partMask = 1<<partBits - 1
)

// within returns the part p of an event as a part of the pair in which the
// event is the part outer.
func (p Part) within(outer Part) Part {
	for step := outer; step != Self; step >>= partBits {
		p <<= partBits
	}
	return p | outer
}

// From returns p relative to the part first; false if p is not inside first.
func (p Part) From(first Part) (Part, bool) {
	for ; first != Self; first >>= partBits {
		if p&partMask != first&partMask {
			return p, false
		}
		p >>= partBits
	}
	return p, true
}

// Past reports that a part is, or is inside, the start of a pair. When the pair ends, the
// event of such a part is over; all other parts are the event of the end itself.
func (p Part) Past() bool {
	for ; p != Self; p >>= partBits {
		if p&partMask == Start {
			return true
		}
	}
	return false
}

// View says which aspect of a field a Field node reads.
type View uint8

const (
	// ViewValue is the field itself: Int for numbers, Str for text without
	// its NUL, Str of all bytes for arrays, bitmasks and anything else.
	ViewValue View = iota
	// ViewBytes is all bytes as Str, also for a text or a number.
	ViewBytes
	// ViewOffset is the offset of the field's data in the record, as Int; it
	// differs from Field.Offset for __data_loc and __rel_loc.
	ViewOffset
	// ViewLen is the number of bytes of data, as Int.
	ViewLen
)

type (
	// Const is a constant; T says which member holds it. A bool is 0 or 1
	// in Int.
	Const struct {
		T     Type
		Int   int64
		Str   string
		Float float64
	}

	// Field reads a field of an event.
	Field struct {
		F    *event.Field
		Part Part
		View View
	}

	// Mem reads Size bytes of a record as an integer. Addr is RecordAddr plus
	// an offset; any other address sets Frame.Err.
	Mem struct {
		Addr   Node
		Size   int
		Signed bool
	}

	// CStr is the text at an address of a record, up to its NUL.
	CStr struct{ Addr Node }

	// MemBytes is Len bytes at an address of a record.
	MemBytes struct{ Addr, Len Node }

	// StrAt is byte I of a text; its NUL can be read too.
	StrAt struct {
		X, I   Node
		Signed bool
	}

	// Slice is X[Lo:Hi] of a text in Python's way. NoHi means to the end.
	Slice struct {
		X      Node
		Lo, Hi int
		NoHi   bool
	}

	// Unary and Binary apply an operator.
	Unary struct {
		Op Op
		T  Type
		X  Node
	}
	Binary struct {
		Op   Op
		T    Type
		X, Y Node
	}

	// Ext cuts an integer to Bits (8, 16, 32) and extends it again, like a C
	// conversion to a narrower type.
	Ext struct {
		X        Node
		Bits     int
		Unsigned bool
	}

	// Cond is Test ? Then : Else.
	Cond struct{ Test, Then, Else Node }

	// Local reads a local variable. Set assigns one, and its value is the
	// assigned value.
	Local struct {
		Index int
		T     Type
		Name  string
	}
	Set struct {
		Index int
		Name  string
		X     Node
	}

	// Seq evaluates all nodes and has the value of the last. As a list of
	// statements its type is Void, and a Return in it ends the Func.
	Seq struct {
		List []Node
		T    Type
	}

	// If is the statement; Else may be nil.
	If struct{ Test, Then, Else Node }

	// Return ends the Func around it. X is nil if the Func is Void.
	Return struct{ X Node }

	// Func is the value that its Body returns, the zero value if it ends
	// without Return. A called function is inlined as a Func.
	Func struct {
		Body Node
		T    Type
	}

	// LoadState and StoreState access the slots of one key: Frame.Texts for
	// texts, Frame.State for numbers. A text that was loaded is a view that
	// the next store to its slot changes.
	LoadState struct {
		Slot int
		T    Type
	}
	StoreState struct {
		Slot int
		X    Node
	}

	// LoadElem and StoreElem access a list of Len numbers in the state, which
	// begins at Slot. A negative I counts from the end; an index out of range sets
	// Frame.Err.
	LoadElem struct {
		Slot, Len int
		T         Type
		I         Node
	}
	StoreElem struct {
		Slot, Len int
		X, I      Node
	}

	// Emit hands values to Frame.Emit.
	Emit struct {
		ID    int
		Names []string
		Args  []Node
	}

	// Native calls Go code. Name is for messages, Traits are its properties for
	// planners and generators, Data is its table, such as an *event.Symbols.
	Native struct {
		Traits Trait
		Name   string
		T      Type
		Args   []Node
		Data   any
		// Kernel says how programs of the kernel compute it. If it is nil, they cannot, and
		// HostOnly is the reason: explain shows "NAME() runs in ppscript: HostOnly".
		Kernel   KernelCode
		HostOnly string
		// Effect says that the call has an effect or depends on changing state:
		// it is not folded, not moved, and not made after an error.
		Effect bool
		// One of these is set. Args are valid during the call; views that
		// Str returns must live as long as the event, or be in
		// Frame.Scratch.
		Int   func(f *Frame, args []Arg) int64
		Float func(f *Frame, args []Arg) float64
		Str   func(f *Frame, args []Arg) []byte
		Int1  func(f *Frame, x int64) int64
		Str1  func(f *Frame, x int64) []byte
	}

	// Quantity gives the integer X a unit, such as duration, moment or size.
	// Only Value, and code that uses the unit, differ from X itself.
	Quantity struct {
		X    Node
		Unit event.Unit
	}

	// TupleOf is a composite key.
	TupleOf struct{ Elems []Node }
)

// An Arg is an evaluated argument: I for numbers (for a Float its bits), S for
// texts.
type Arg struct {
	Kind Kind
	I    int64
	S    []byte
}

func (n *Const) Type() Type { return n.T }

func (n *Field) Type() Type {
	switch n.View {
	case ViewBytes:
		return TStr
	case ViewOffset, ViewLen:
		return TInt
	}
	switch n.F.Kind {
	case event.Int:
		return Type{Kind: Int, Unsigned: !n.F.Signed}
	case event.Float:
		return TFloat
	}
	return TStr
}

func (n *Mem) Type() Type        { return Type{Kind: Int, Unsigned: !n.Signed} }
func (n *CStr) Type() Type       { return TStr }
func (n *MemBytes) Type() Type   { return TStr }
func (n *StrAt) Type() Type      { return Type{Kind: Int, Unsigned: !n.Signed} }
func (n *Slice) Type() Type      { return TStr }
func (n *Unary) Type() Type      { return n.T }
func (n *Binary) Type() Type     { return n.T }
func (n *Ext) Type() Type        { return Type{Kind: Int, Unsigned: n.Unsigned} }
func (n *Cond) Type() Type       { return n.Then.Type() }
func (n *Local) Type() Type      { return n.T }
func (n *Set) Type() Type        { return n.X.Type() }
func (n *Seq) Type() Type        { return n.T }
func (n *If) Type() Type         { return TVoid }
func (n *Return) Type() Type     { return TVoid }
func (n *Func) Type() Type       { return n.T }
func (n *LoadState) Type() Type  { return n.T }
func (n *StoreState) Type() Type { return TVoid }
func (n *LoadElem) Type() Type   { return n.T }
func (n *StoreElem) Type() Type  { return TVoid }
func (n *Emit) Type() Type       { return TVoid }
func (n *Native) Type() Type     { return n.T }
func (n *Quantity) Type() Type   { return n.X.Type() }
func (n *TupleOf) Type() Type    { return TTuple }
