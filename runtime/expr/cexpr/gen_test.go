package cexpr

import (
	"fmt"
	"math/rand"

	"ppscript/runtime/expr/exprtest"
)

// This file makes random C expressions over constants and the integer fields
// of testSchema, for the comparison with gcc. Undefined behaviour of C is
// avoided or settled as we settle it: gcc runs with -fwrapv, shift counts are
// masked by the expression itself, divisors are never 0 nor -1.

type gen struct{ r *rand.Rand }

var genTypes = []string{"char", "signed char", "unsigned char", "short", "unsigned short",
	"int", "unsigned int", "long", "unsigned long", "bool", "u8", "s16", "u32", "s64"}

func (g *gen) literal() string {
	interesting := []string{"0", "1", "2", "7", "127", "128", "255", "256", "32767", "65535", "65536",
		"2147483647", "0x7fffffff", "0x80000000", "4294967295", "0xffffffff", "4294967296",
		"9223372036854775807", "0x8000000000000000", "0xffffffffffffffff", "1u", "3l", "5ul",
		"'a'", "'\\xff'", "010"}
	if g.r.Intn(2) == 0 {
		return interesting[g.r.Intn(len(interesting))]
	}
	return fmt.Sprint(g.r.Intn(1000))
}

func (g *gen) expr(depth int) string {
	if depth <= 0 {
		if g.r.Intn(3) == 0 {
			return g.literal()
		}
		return exprtest.Integers[g.r.Intn(len(exprtest.Integers))]
	}
	x := func() string { return g.expr(depth - 1 - g.r.Intn(2)) }
	switch g.r.Intn(13) {
	case 0:
		return "(" + genTypes[g.r.Intn(len(genTypes))] + ")" + "(" + x() + ")"
	case 1:
		return []string{"-", "~", "!", "+"}[g.r.Intn(4)] + "(" + x() + ")"
	case 2:
		return "(" + x() + []string{" / ", " % "}[g.r.Intn(2)] + g.divisor() + ")"
	case 3:
		// 31 is inside every promoted type.
		return "(" + x() + []string{" << ", " >> "}[g.r.Intn(2)] + "((" + x() + ") & 31))"
	case 4:
		return "(" + x() + " ? " + x() + " : " + x() + ")"
	case 5:
		return "(" + x() + []string{" && ", " || "}[g.r.Intn(2)] + x() + ")"
	case 6, 7, 8:
		return "(" + x() + []string{" < ", " <= ", " > ", " >= ", " == ", " != "}[g.r.Intn(6)] + x() + ")"
	case 9:
		return "((" + x() + "), " + x() + ")"
	}
	return "(" + x() + []string{" + ", " - ", " * ", " & ", " | ", " ^ "}[g.r.Intn(6)] + x() + ")"
}

// divisor is never 0, 1 or -1 in any type that it can be converted to. (gcc
// makes x / -(n+1) of -(x / (n+1)), which traps for the least x and n 0.)
func (g *gen) divisor() string {
	if g.r.Intn(2) == 0 {
		return fmt.Sprint(g.r.Intn(100) + 2)
	}
	return "((" + exprtest.Integers[1+2*g.r.Intn(2)] + " & 63) + 2)"
}

// program is an expression that may assign first. Assignments inside of
// operands would have no order that C defines.
func (g *gen) program() string {
	s := g.expr(g.r.Intn(5))
	for g.r.Intn(4) == 0 {
		f := exprtest.Integers[g.r.Intn(len(exprtest.Integers))]
		switch g.r.Intn(3) {
		case 0:
			s = []string{f + "++", f + "--", "++" + f, "--" + f}[g.r.Intn(4)] + ", " + s
		case 1:
			s = f + []string{" = ", " += ", " -= ", " *= ", " &= ", " |= ", " ^= "}[g.r.Intn(7)] + g.expr(2) +
				", " + s
		default:
			s = f + []string{" /= ", " %= "}[g.r.Intn(2)] + g.divisor() + ", " + s
		}
	}
	return s
}
