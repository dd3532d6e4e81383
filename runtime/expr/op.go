package expr

// Op is an operator of a Unary or Binary node. C's operators wrap at 64 bits,
// Python's (the checked ones) set Frame.Err instead. The constructors choose
// between signed, unsigned and mixed variants.
type Op uint8

const (
	OpNone Op = iota

	// Integers, wrapping. Division by zero sets Frame.Err; so does the only
	// signed quotient that does not fit. Shift counts are taken modulo 64;
	// front ends mask them for narrower types.
	OpAdd
	OpSub
	OpMul
	OpDivS
	OpDivU
	OpModS
	OpModU
	OpAnd
	OpOr
	OpXor
	OpShl
	OpShrS
	OpShrU
	OpNeg // unary
	OpNot // unary ~

	// Integers, checked: a result that the node's type cannot hold sets
	// Frame.Err. Operands keep their own signs.
	OpAddC
	OpSubC
	OpMulC
	OpFloorDiv
	OpFloorMod
	OpAndC
	OpOrC
	OpXorC
	OpShlC // a count that is negative or too large sets Frame.Err
	OpShrC
	OpNegC // unary
	OpNotC // unary ~

	// Comparisons of integers. S and U read both sides as signed or
	// unsigned; SU compares a signed with an unsigned, US the reverse.
	OpEq
	OpNe
	OpLtS
	OpLeS
	OpLtU
	OpLeU
	OpEqSU
	OpNeSU
	OpLtSU
	OpLeSU
	OpLtUS
	OpLeUS

	// Bools; && and || evaluate the right side only if needed.
	OpAndB
	OpOrB
	OpNotB // unary

	// Floats.
	OpFAdd
	OpFSub
	OpFMul
	OpFDiv // division by zero sets Frame.Err, as in Python
	OpFEq
	OpFNe
	OpFLt
	OpFLe
	OpFNeg    // unary
	OpToFloat // unary, from an integer
	OpTrunc   // unary, float to int; checked

	// Texts.
	OpStrEq
	OpStrNe
	OpStrLt
	OpStrLe
	OpPrefix   // x starts with y
	OpSuffix   // x ends with y
	OpContains // y is inside x
	OpGlob     // x matches the glob y
	OpStrLen   // unary

	// OpToInt converts a bool to 0 or 1; OpTruth is true if an integer is not
	// 0, or a text not empty.
	OpToInt
	OpTruth

	// OpSigned and OpUnsigned change the type of an integer; a value that does
	// not fit the new type sets Frame.Err.
	OpSigned
	OpUnsigned
)

var opNames = [...]string{
	OpNone: "?", OpAdd: "+", OpSub: "-", OpMul: "*", OpDivS: "/s", OpDivU: "/u", OpModS: "%s", OpModU: "%u",
	OpAnd: "&", OpOr: "|", OpXor: "^", OpShl: "<<", OpShrS: ">>s", OpShrU: ">>u", OpNeg: "-", OpNot: "~",
	OpAddC: "+c", OpSubC: "-c", OpMulC: "*c", OpFloorDiv: "//", OpFloorMod: "%%", OpAndC: "&c", OpOrC: "|c",
	OpXorC: "^c", OpShlC: "<<c", OpShrC: ">>c", OpNegC: "-c", OpNotC: "~c",
	OpEq: "==", OpNe: "!=", OpLtS: "<s", OpLeS: "<=s", OpLtU: "<u", OpLeU: "<=u",
	OpEqSU: "==su", OpNeSU: "!=su", OpLtSU: "<su", OpLeSU: "<=su", OpLtUS: "<us", OpLeUS: "<=us",
	OpAndB: "&&", OpOrB: "||", OpNotB: "!",
	OpFAdd: "+f", OpFSub: "-f", OpFMul: "*f", OpFDiv: "/f", OpFEq: "==f", OpFNe: "!=f",
	OpFLt: "<f", OpFLe: "<=f",
	OpFNeg: "-f", OpToFloat: "float", OpTrunc: "trunc",
	OpStrEq: "==", OpStrNe: "!=", OpStrLt: "<", OpStrLe: "<=", OpPrefix: "startswith", OpSuffix: "endswith",
	OpContains: "contains", OpGlob: "~", OpStrLen: "len", OpToInt: "int", OpTruth: "bool",
	OpSigned: "signed", OpUnsigned: "unsigned",
}

func (o Op) String() string { return opNames[o] }

// sig has the kinds of an operator's operands and result.
type sig struct {
	unary   bool
	in, out Kind
}

// signature returns the kinds of an operator's operands and result.
func (o Op) signature() sig {
	switch {
	case o == OpNeg, o == OpNot, o == OpNegC, o == OpNotC, o == OpSigned, o == OpUnsigned:
		return sig{true, Int, Int}
	case o >= OpAdd && o <= OpNotC:
		return sig{false, Int, Int}
	case o >= OpEq && o <= OpLeUS:
		return sig{false, Int, Bool}
	case o == OpNotB:
		return sig{true, Bool, Bool}
	case o == OpAndB, o == OpOrB:
		return sig{false, Bool, Bool}
	case o >= OpFAdd && o <= OpFDiv:
		return sig{false, Float, Float}
	case o >= OpFEq && o <= OpFLe:
		return sig{false, Float, Bool}
	case o == OpFNeg:
		return sig{true, Float, Float}
	case o == OpToFloat:
		return sig{true, Int, Float}
	case o == OpTrunc:
		return sig{true, Float, Int}
	case o >= OpStrEq && o <= OpGlob:
		return sig{false, Str, Bool}
	case o == OpStrLen:
		return sig{true, Str, Int}
	case o == OpToInt:
		return sig{true, Bool, Int}
	}
	return sig{true, Void, Bool} // OpTruth takes any kind
}
