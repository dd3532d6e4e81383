package expr

import "ppscript/runtime/event"

// Kind says which closure of a Program delivers a value.
type Kind = event.TypeKind

// The kinds. Any is the kind of a Program whose values get their kind at run
// time, because a function stays interpreted. Only Value is set, and Bool,
// which is the value's truth.
const (
	Void  = event.TypeVoid // statements
	Int   = event.TypeInt
	Bool  = event.TypeBool
	Str   = event.TypeStr
	Float = event.TypeFloat
	Tuple = event.TypeTuple // a composite key; see Program.Elems
	Any   = event.TypeAny
)

// A Type is the type of an IR node. C's narrower integers exist only as Ext
// nodes: every integer value is sign- or zero-extended to 64 bits.
type Type = event.Type

// The types.
var (
	TVoid  = Type{Kind: Void}
	TInt   = Type{Kind: Int}
	TUint  = Type{Kind: Int, Unsigned: true}
	TBool  = Type{Kind: Bool, Unsigned: true}
	TStr   = Type{Kind: Str}
	TFloat = Type{Kind: Float}
	TTuple = Type{Kind: Tuple}
)
