package c

import (
	"strconv"
	"strings"
)

func (n *Ident) String() string { return n.Name }

func (n *Number) String() string {
	s := strconv.FormatUint(n.Value, 10)
	if n.Char && int64(n.Value) < 0 {
		return "(" + strconv.FormatInt(int64(n.Value), 10) + ")" // parsing "-61" gives the same node
	}
	if n.Type.Unsigned {
		s += "U"
	}
	if n.Type.Size == 8 {
		s += "L"
	}
	return s
}

func (n *String) String() string   { return strconv.Quote(n.Value) }
func (n *Unary) String() string    { return "(" + n.Op + n.X.String() + ")" }
func (n *Postfix) String() string  { return "(" + n.X.String() + n.Op + ")" }
func (n *Binary) String() string   { return "(" + n.X.String() + " " + n.Op + " " + n.Y.String() + ")" }
func (n *Assign) String() string   { return "(" + n.X.String() + " " + n.Op + "= " + n.Y.String() + ")" }
func (n *Call) String() string     { return n.Fun.String() + "(" + list(n.Args, ", ") + ")" }
func (n *Index) String() string    { return n.X.String() + "[" + n.I.String() + "]" }
func (n *Cast) String() string     { return "((" + n.Type.String() + ")" + n.X.String() + ")" }
func (n *Brace) String() string    { return "{" + list(n.List, ", ") + "}" }
func (n *StmtExpr) String() string { return "({" + list(n.List, "; ") + ";})" }

func (n *Cond) String() string {
	if n.Then == nil {
		return "(" + n.Test.String() + " ?: " + n.Else.String() + ")"
	}
	return "(" + n.Test.String() + " ? " + n.Then.String() + " : " + n.Else.String() + ")"
}

func (n *Member) String() string {
	if n.Arrow {
		return n.X.String() + "->" + n.Name
	}
	return n.X.String() + "." + n.Name
}

func (n *Sizeof) String() string {
	if n.Type != nil {
		return "sizeof(" + n.Type.String() + ")"
	}
	return "sizeof(" + n.X.String() + ")"
}

func (n *Decl) String() string {
	s := "auto " + n.Name
	if n.Type != nil {
		s = n.Type.String() + " " + n.Name
	}
	if n.Init != nil {
		s += " = " + n.Init.String()
	}
	return s
}

func list(nodes []Node, sep string) string {
	var b strings.Builder
	for i, n := range nodes {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(n.String())
	}
	return b.String()
}
