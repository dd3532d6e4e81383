package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func (p Part) String() string {
	s := ""
	for ; p != Self; p >>= partBits {
		s += [...]string{"", "start.", "end.", "?."}[p&partMask]
	}
	return s
}

func (n *Const) String() string {
	switch n.T.Kind {
	case Bool:
		return strconv.FormatBool(n.Int != 0)
	case Str:
		return strconv.Quote(n.Str)
	case Float:
		return strconv.FormatFloat(n.Float, 'g', -1, 64)
	}
	if !n.T.Unsigned {
		return strconv.FormatInt(n.Int, 10)
	}
	if rel := uint64(n.Int) - recordBase; rel>>partShift <= math.MaxUint8 {
		name := strings.TrimSuffix(Part(rel>>partShift).String(), ".")
		if name == "" {
			name = "rec"
		}
		return fmt.Sprintf("&%s[%d]", name, int64(rel<<(64-partShift))>>(64-partShift))
	}
	return strconv.FormatUint(uint64(n.Int), 10)
}

func (n *Field) String() string {
	s := n.Part.String() + n.F.Name
	switch n.View {
	case ViewBytes:
		return "bytes(" + s + ")"
	case ViewOffset:
		return "offset(" + s + ")"
	case ViewLen:
		return "len(" + s + ")"
	}
	return s
}

func (n *Mem) String() string {
	sign := "u"
	if n.Signed {
		sign = "s"
	}
	return fmt.Sprintf("mem.%s%d[%s]", sign, n.Size*8, n.Addr)
}

func (n *Slice) String() string {
	if n.NoHi {
		return fmt.Sprintf("%s[%d:]", n.X, n.Lo)
	}
	return fmt.Sprintf("%s[%d:%d]", n.X, n.Lo, n.Hi)
}

func (n *Unary) String() string {
	if s := n.Op.String(); len(s) > 2 {
		return s + "(" + n.X.String() + ")"
	}
	return "(" + n.Op.String() + n.X.String() + ")"
}

func (n *Ext) String() string {
	sign := "s"
	if n.Unsigned {
		sign = "u"
	}
	return fmt.Sprintf("%s%d(%s)", sign, n.Bits, n.X)
}

func (n *Seq) String() string {
	if n.T.Kind == Void {
		s := "{"
		for _, m := range n.List {
			s += " " + m.String() + ";"
		}
		return s + " }"
	}
	return "(" + join(n.List, ", ") + ")"
}

func (n *If) String() string {
	s := "if " + n.Test.String() + " " + n.Then.String()
	if n.Else != nil {
		s += " else " + n.Else.String()
	}
	return s
}

func (n *Return) String() string {
	if n.X == nil {
		return "return"
	}
	return "return " + n.X.String()
}

func (n *Emit) String() string {
	s := "emit(" + strconv.Itoa(n.ID)
	for i, a := range n.Args {
		s += ", "
		if i < len(n.Names) {
			s += n.Names[i] + " = "
		}
		s += a.String()
	}
	return s + ")"
}

func (n *CStr) String() string     { return "cstr[" + n.Addr.String() + "]" }
func (n *MemBytes) String() string { return "mem[" + n.Addr.String() + ", " + n.Len.String() + "]" }
func (n *StrAt) String() string    { return n.X.String() + "[" + n.I.String() + "]" }
func (n *Binary) String() string {
	return "(" + n.X.String() + " " + n.Op.String() + " " + n.Y.String() + ")"
}
func (n *Cond) String() string      { return fmt.Sprintf("(%s ? %s : %s)", n.Test, n.Then, n.Else) }
func (n *Local) String() string     { return "$" + n.Name }
func (n *Set) String() string       { return "($" + n.Name + " = " + n.X.String() + ")" }
func (n *Func) String() string      { return "func " + n.T.String() + " " + n.Body.String() }
func (n *LoadState) String() string { return slot(n.T, n.Slot) }
func (n *StoreState) String() string {
	return slot(n.X.Type(), n.Slot) + " = " + n.X.String()
}

func (n *LoadElem) String() string { return elem(n.Slot, n.Len, n.I) }
func (n *StoreElem) String() string {
	return elem(n.Slot, n.Len, n.I) + " = " + n.X.String()
}

func elem(slot, size int, i Node) string {
	return fmt.Sprintf("state[%d:%d][%s]", slot, slot+size, i)
}

func slot(t Type, i int) string {
	if t.Kind == Str {
		return "text[" + strconv.Itoa(i) + "]"
	}
	return "state[" + strconv.Itoa(i) + "]"
}

func (n *Native) String() string   { return n.Name + "(" + join(n.Args, ", ") + ")" }
func (n *Quantity) String() string { return n.X.String() }
func (n *TupleOf) String() string  { return "(" + join(n.Elems, ", ") + ",)" }

func join(nodes []Node, sep string) string {
	var b strings.Builder
	for i, n := range nodes {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(n.String())
	}
	return b.String()
}
