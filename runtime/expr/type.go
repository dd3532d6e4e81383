package expr

// Kind says which closure of a Program delivers a value.
type Kind uint8

const (
	Void  Kind = iota // statements
	Int               // 64 bits; Type.Unsigned tells how to read the top bit
	Bool              // false or true
	Str               // a view of bytes
	Float             // a double, for reporting
	Tuple             // a composite key; see Program.Elems
)

// A Type is the type of an IR node. C's narrower integers exist only as Ext
// nodes: every integer value is kept sign- or zero-extended to 64 bits.
type Type struct {
	Kind     Kind
	Unsigned bool
}

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

// Numeric reports that values of the type are integers or bools.
func (t Type) Numeric() bool { return t.Kind == Int || t.Kind == Bool }

func (t Type) String() string {
	switch t.Kind {
	case Int:
		if t.Unsigned {
			return "uint"
		}
		return "int"
	case Bool:
		return "bool"
	case Str:
		return "str"
	case Float:
		return "float"
	case Tuple:
		return "tuple"
	}
	return "void"
}
