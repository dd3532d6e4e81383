package expr

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/glob"
)

// This file prints predicates as tracepoint filters, which the kernel
// evaluates before it writes the record: nothing is cheaper.
//
// Only predicates for which the kernel gives the same result are printed. The
// kernel's filters (kernel/trace/trace_events_filter.c) cut the constant to the
// field's size and compare with the field's sign; so the constant must fit, and
// the comparison must have that sign. Its globs have three fast forms, of which
// two are wrong for a char array: a suffix is searched at the end of the array,
// an infix also after the NUL.

// maxFilter is less than the page that the kernel allows.
const maxFilter = 4000

// KernelFilter splits a predicate: filter is a tracepoint filter for some
// members of its conjunction, and rest has the other members, which remain to
// be evaluated; nil if there are none. ok is false if the kernel can evaluate
// no member; rest is then the whole predicate.
//
// A predicate with side effects is not split.
func KernelFilter(n Node) (filter string, rest Node, ok bool) {
	if n == nil {
		return "", nil, false
	}
	if n = condition(n); !Pure(n) {
		return "", n, false
	}
	var parts []string
	size := 0
	for _, p := range conjuncts(n, nil) {
		text, can := filterText(p)
		if can && size+len(text) < maxFilter {
			parts = append(parts, text)
			size += len(text) + 4
			continue
		}
		if rest == nil {
			rest = p
			continue
		}
		both, err := NewBinary(OpAndB, rest, p)
		if err != nil {
			return "", n, false
		}
		rest = both
	}
	if len(parts) == 0 {
		return "", n, false
	}
	return strings.Join(parts, " && "), rest, true
}

// conjuncts appends the members of a conjunction to list, as conditions.
func conjuncts(n Node, list []Node) []Node {
	n = condition(n)
	if b, ok := n.(*Binary); ok && b.Op == OpAndB {
		return conjuncts(b.Y, conjuncts(b.X, list))
	}
	return append(list, n)
}

// condition removes conversions between a condition and 0 or 1.
func condition(n Node) Node {
	for {
		switch u := n.(type) {
		case *Unary:
			if u.Op == OpToInt || u.Op == OpTruth && u.X.Type().Numeric() {
				n = u.X
				continue
			}
		case *Binary:
			// x != 0 becomes x, unless x is a field: a filter needs the
			// comparison.
			if c, ok := u.Y.(*Const); ok && u.Op == OpNe && c.Int == 0 {
				if x, ok := u.X.(*Unary); ok && x.Op == OpToInt {
					n = x.X
					continue
				}
			}
		}
		return n
	}
}

func filterText(n Node) (string, bool) {
	n = condition(n)
	switch n := n.(type) {
	case *Field: // the truth of the field
		return filterCompare("!=", n, 0, false)
	case *Unary:
		if n.Op == OpNotB {
			x, ok := filterText(n.X)
			return "!(" + x + ")", ok
		}
	case *Binary:
		switch op := n.Op; {
		case op == OpAndB || op == OpOrB:
			x, ok1 := filterText(n.X)
			y, ok2 := filterText(n.Y)
			sep := " && "
			if op == OpOrB {
				sep = " || "
			}
			return "(" + x + sep + y + ")", ok1 && ok2
		case op == OpAnd || op == OpAndC:
			if f, ok := n.X.(*Field); ok {
				if c, ok := n.Y.(*Const); ok {
					return filterCompare("&", f, c.Int, c.T.Unsigned)
				}
			}
		case op >= OpEq && op <= OpLeU:
			return filterRelation(n)
		case op == OpStrEq || op == OpStrNe || op == OpGlob || op == OpPrefix || op == OpSuffix ||
			op == OpContains:
			return filterString(n)
		}
	}
	return "", false
}

// filterRelation prints a comparison with a constant on either side.
func filterRelation(n *Binary) (string, bool) {
	rel := map[Op]string{OpEq: "==", OpNe: "!=", OpLtS: "<", OpLtU: "<", OpLeS: "<=", OpLeU: "<="}[n.Op]
	x, y := n.X, n.Y
	if _, ok := x.(*Const); ok {
		x, y = y, x
		rel = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">="}[rel]
	}
	c, ok := y.(*Const)
	if !ok {
		return "", false
	}
	if f, ok := x.(*Field); ok {
		asSigned, asUnsigned := n.Op == OpLtS || n.Op == OpLeS, n.Op == OpLtU || n.Op == OpLeU
		if f.F.Filtered && f.F.Size == 8 {
			if asSigned {
				return filterSigned(rel, f, c.Int, c.T.Unsigned)
			}
			return filterCompare(rel, f, c.Int, c.T.Unsigned)
		}
		// The comparison must have the field's sign.
		if f.F.Signed && asUnsigned || !f.F.Signed && f.F.Size == 8 && asSigned {
			return "", false
		}
		return filterCompare(rel, f, c.Int, c.T.Unsigned)
	}
	// Only (field & mask) compared with 0.
	b, ok := x.(*Binary)
	if !ok || b.Op != OpAnd && b.Op != OpAndC || c.Int != 0 || n.Op != OpEq && n.Op != OpNe {
		return "", false
	}
	text, ok := filterText(b)
	if rel == "==" {
		text = "!(" + text + ")"
	}
	return text, ok
}

// filterCompare prints FIELD OP k if k fits the field.
func filterCompare(rel string, n *Field, k int64, unsigned bool) (string, bool) {
	f := n.F
	if n.Part != Self || n.View != ViewValue || f.Kind != event.Int {
		return "", false
	}
	if f.Place == event.InMember && f.Member == event.MemberCPU {
		if rel == "&" || k < 0 || k > math.MaxInt16 {
			return "", false
		}
		return "CPU " + rel + " " + strconv.FormatInt(k, 10), true
	}
	if f.Place == event.InMember && (f.Member == event.MemberIRQsOff || f.Member == event.MemberNeedResched) {
		return filterFlag(rel, f.Member, k)
	}
	if f.Place != event.InRaw || f.Of != nil || strings.Contains(f.Type, "char *") {
		return "", false
	}
	if f.Wide > f.Size {
		return filterLow(rel, f, k)
	}
	bits := uint(f.Size * 8)
	switch {
	case f.Size == 8 && f.Signed && !f.Filtered:
		if unsigned && k < 0 && rel != "==" && rel != "!=" && rel != "&" {
			return "", false
		}
		return f.Name + " " + rel + " " + strconv.FormatInt(k, 10), true
	case f.Size == 8:
		return f.Name + " " + rel + " " + strconv.FormatUint(uint64(k), 10), true
	case k < 0 && unsigned:
		return "", false
	case f.Signed && (k < -1<<(bits-1) || k >= 1<<(bits-1)):
		return "", false
	case !f.Signed && (k < 0 || k >= 1<<bits):
		return "", false
	}
	return f.Name + " " + rel + " " + strconv.FormatInt(k, 10), true
}

// filterSigned prints a signed comparison of a field that the kernel treats as unsigned. Numbers
// with the same sign have the same order either way; the top bit is the sign.
func filterSigned(rel string, f *Field, k int64, unsigned bool) (string, bool) {
	text, ok := filterCompare(rel, f, k, unsigned)
	if !ok || unsigned && k < 0 {
		return "", false
	}
	negative := f.F.Name + " & " + strconv.FormatUint(1<<63, 10)
	switch less := rel == "<" || rel == "<="; {
	case less && k >= 0:
		text = "(" + negative + " || " + text + ")"
	case less:
		text = "(" + negative + " && " + text + ")"
	case k >= 0:
		text = "(!(" + negative + ") && " + text + ")"
	default:
		text = "(!(" + negative + ") || " + text + ")"
	}
	return text, true
}

// filterLow prints a comparison of a field that the kernel treats as wider than it is. A filter
// cannot cut the field, but it can test bits: a number is equal to k if it has all bits of k and no
// others.
func filterLow(rel string, f *event.Field, k int64) (string, bool) {
	const mostBits = 16
	low := uint64(1)<<(8*f.Size) - 1
	bit := func(mask uint64) string { return f.Name + " & " + strconv.FormatUint(mask, 10) }
	wanted := uint64(k) & low
	switch fits, _ := event.LoadInt(binary.LittleEndian.AppendUint64(nil, wanted)[:f.Size], f.Signed); {
	case rel == "&":
		return bit(wanted), wanted != 0
	case rel != "==" && rel != "!=", fits != k, bits.OnesCount64(wanted) > mostBits:
		return "", false
	}
	var text []string
	if other := low &^ wanted; other != 0 {
		text = append(text, "!("+bit(other)+")")
	}
	for rest := wanted; rest != 0; rest &= rest - 1 {
		text = append(text, bit(rest&-rest))
	}
	all := "(" + strings.Join(text, " && ") + ")"
	if rel == "!=" {
		all = "!" + all
	}
	return all, true
}

// filterFlag prints the comparison of a context member that is a flag, 0 or 1,
// which the record of a tracepoint has in common_flags.
func filterFlag(rel string, f event.Member, k int64) (string, bool) {
	bit := event.FlagIRQsOff
	if f == event.MemberNeedResched {
		bit = event.FlagNeedResched
	}
	set := "common_flags & " + strconv.Itoa(bit)
	switch {
	case k != 0 && k != 1, rel != "==" && rel != "!=":
		return "", false
	case (rel == "==") == (k == 1):
		return set, true
	}
	return "!(" + set + ")", true
}

// filterString prints a comparison of a text field with a constant.
func filterString(n *Binary) (string, bool) {
	f, ok := n.X.(*Field)
	c, isConst := n.Y.(*Const)
	if !ok && n.Op != OpGlob && n.Op != OpPrefix && n.Op != OpSuffix && n.Op != OpContains {
		f, ok = n.Y.(*Field)
		c, isConst = n.X.(*Const)
	}
	if !ok || !isConst || f.Part != Self || f.View != ViewValue || f.F.Kind != event.Str {
		return "", false
	}
	fixed := f.F.Place == event.InRaw
	if !fixed && f.F.Place != event.DataLoc && f.F.Place != event.RelLoc {
		return "", false
	}
	s := c.Str
	// The kernel's parser has no escapes and a limit of 255 bytes.
	if s == "" || len(s) > 200 || strings.ContainsAny(s, "\"\\") {
		return "", false
	}
	for _, b := range []byte(s) {
		if b < ' ' || b > '~' {
			return "", false
		}
	}
	rel := "~"
	switch n.Op {
	case OpStrEq, OpStrNe:
		// A longer constant would be equal to its own beginning.
		if fixed && len(s) > f.F.Size {
			return "", false
		}
		if rel = "=="; n.Op == OpStrNe {
			rel = "!="
		}
		return f.F.Name + " " + rel + " \"" + s + "\"", true
	case OpPrefix, OpSuffix, OpContains:
		if strings.ContainsAny(s, "*?[") {
			return "", false
		}
		if n.Op != OpPrefix {
			s = "*" + s
		}
		if n.Op != OpSuffix {
			s += "*"
		}
	}
	s, ok = kernelGlob(s, fixed, strings.HasSuffix(f.F.Name, "comm"))
	return f.F.Name + " " + rel + " \"" + s + "\"", ok
}

// kernelGlob writes a glob for the kernel, for which a leading ! or digit has
// another meaning, and a negated set begins with !. In a fixed array, the
// kernel matches prefixes correctly, and other globs only with its general
// matcher and if the text ends in a NUL, as a comm does.
func kernelGlob(s string, fixed, terminated bool) (string, bool) {
	if s[0] == '!' || s[0] >= '0' && s[0] <= '9' {
		return "", false
	}
	b := []byte(s)
	for i := 0; i < len(b); i++ {
		if b[i] != '[' {
			continue
		}
		end := glob.SetEnd(b[i:])
		if end < 0 || b[i+1] == ']' || strings.IndexByte("!^", b[i+1]) >= 0 && b[i+2] == ']' {
			return "", false
		}
		if b[i+1] == '^' {
			b[i+1] = '!'
		}
		i += end
	}
	if !fixed {
		return string(b), true
	}
	m := compileGlob(string(b))
	switch {
	case m.kind == 'p' && strings.Count(s, "*") == 1, m.kind == 'e':
		return string(b), true
	case !terminated:
		return "", false
	case m.kind == 'g':
		// A set, as in "*[s]h", makes the kernel use its general matcher.
		return string(b), bytes.ContainsAny(b, "?[") || bytes.IndexByte(bytes.Trim(b, "*"), '*') >= 0
	case len(m.pattern) == 0:
		return "", false
	}
	// "*sh" becomes "*s[h]".
	i := bytes.LastIndexByte(b, m.pattern[len(m.pattern)-1])
	if b[i] == ']' || b[i] == '^' || b[i] == '!' {
		return "", false
	}
	return string(b[:i]) + "[" + string(b[i:i+1]) + "]" + string(b[i+1:]), true
}
