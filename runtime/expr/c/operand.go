package c

import "strings"

// This file reads operands: prefix and postfix operators, casts, calls,
// literals, statement expressions.
//
// To recognize a cast, the parser must know which names are types. Keywords,
// struct X, and the names of the typedef table are types. Any other name is a
// type if nothing else is possible: in "(name *)" and "(name) operand".
// "(name)(x)" is a call unless the name ends in _t.

func (p *parser) unary() (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	t := p.tok()
	if t.kind == tIdent {
		switch t.text {
		case "sizeof":
			return p.sizeof()
		case "__extension__":
			p.i++
			return p.unary()
		}
	}
	if t.kind != tOp {
		return p.postfix()
	}
	switch t.text {
	case "+", "-", "!", "~", "*", "&", "++", "--":
		p.i++
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &Unary{p.span(t.pos), t.text, x}, nil
	case "(":
		if !p.castStart() {
			break
		}
		p.i++
		typ, err := p.typeName()
		if err != nil {
			return nil, err
		}
		if err := p.expect(")", "after the type"); err != nil {
			return nil, err
		}
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		return &Cast{p.span(t.pos), typ, x}, nil
	}
	return p.postfix()
}

// castStart reports that the current "(" begins a cast.
func (p *parser) castStart() bool {
	p.i++
	typed := p.typeStart()
	p.i--
	if typed {
		// A variable may have the name of a typedef: "(u32 + 3)".
		after := p.peek(2)
		_, typedef := named[p.peek(1).text]
		return !typedef || after.kind != tOp || after.text == ")" || after.text == "*" || after.text == "["
	}
	if p.peek(1).kind != tIdent {
		return false
	}
	n := 2
	for p.peek(n).kind == tOp && p.peek(n).text == "*" {
		n++
	}
	if c := p.peek(n); c.kind != tOp || c.text != ")" {
		return false
	}
	if n > 2 {
		return true
	}
	switch t := p.peek(3); t.kind {
	case tIdent, tNumber, tChar, tString:
		return true
	case tOp:
		return t.text == "!" || t.text == "(" && strings.HasSuffix(p.peek(1).text, "_t")
	}
	return false
}

func (p *parser) sizeof() (Node, error) {
	pos := p.tok().pos
	p.i++
	if p.is("(") && p.peek(1).kind == tIdent {
		p.i++
		if p.typeStart() {
			typ, err := p.typeName()
			if err != nil {
				return nil, err
			}
			if err := p.expect(")", "after the type"); err != nil {
				return nil, err
			}
			return &Sizeof{Span: p.span(pos), Type: typ}, nil
		}
		p.i--
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	return &Sizeof{Span: p.span(pos), X: x}, nil
}

func (p *parser) postfix() (Node, error) {
	x, err := p.primary()
	for err == nil {
		t := p.tok()
		if t.kind != tOp {
			return x, nil
		}
		if p.nodes++; p.nodes > maxNodes {
			return nil, p.errorf(t.pos, "expression has more than %d parts", maxNodes)
		}
		switch t.text {
		case "++", "--":
			p.i++
			x = &Postfix{p.span(x.Pos()), t.text, x}
		case "(":
			p.i++
			var args []Node
			if args, err = p.list(")", "after the arguments"); err == nil {
				x = &Call{p.span(x.Pos()), x, args}
			}
		case "[":
			p.i++
			var i Node
			if i, err = p.comma(); err == nil {
				if err = p.expect("]", "after the index"); err == nil {
					x = &Index{p.span(x.Pos()), x, i}
				}
			}
		case ".", "->":
			p.i++
			name := p.tok()
			if name.kind != tIdent {
				return nil, p.errorf(name.pos, "got %s, want the name of a member", p.show(name))
			}
			p.i++
			x = &Member{p.span(x.Pos()), x, name.text, t.text == "->"}
		default:
			return x, nil
		}
	}
	return nil, err
}

// list reads expressions or brace lists up to the closing token.
func (p *parser) list(closing, what string) ([]Node, error) {
	var nodes []Node
	for !p.accept(closing) {
		if len(nodes) > 0 {
			if err := p.expect(",", "or \""+closing+"\" "+what); err != nil {
				return nil, err
			}
			if closing == "}" && p.accept(closing) {
				break
			}
		}
		n, err := p.argument()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

func (p *parser) argument() (Node, error) {
	if t := p.tok(); p.accept("{") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		items, err := p.list("}", "after the list")
		if err != nil {
			return nil, err
		}
		return &Brace{p.span(t.pos), items}, nil
	}
	return p.assign()
}

func (p *parser) primary() (Node, error) {
	t := p.tok()
	switch t.kind {
	case tIdent:
		p.i++
		return &Ident{p.span(t.pos), t.text}, nil
	case tNumber, tChar:
		p.i++
		return &Number{p.span(t.pos), t.num, t.typ, t.kind == tChar}, nil
	case tString:
		var b strings.Builder
		for p.tok().kind == tString {
			b.WriteString(p.tok().text)
			p.i++
		}
		return &String{p.span(t.pos), b.String()}, nil
	case tOp:
		if t.text != "(" {
			break
		}
		p.i++
		if p.accept("{") {
			return p.statements(t.pos)
		}
		x, err := p.comma()
		if err != nil {
			return nil, err
		}
		return x, p.expect(")", "to close the parenthesis")
	}
	return nil, p.errorf(t.pos, "got %s, want a value", p.show(t))
}

// statements reads the rest of a statement expression, after "({".
func (p *parser) statements(pos int) (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var nodes []Node
	for !p.accept("}") {
		if p.accept(";") {
			continue
		}
		var n Node
		var err error
		if p.declStart() {
			n, err = p.decl()
		} else {
			n, err = p.comma()
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		if !p.is("}") {
			if err := p.expect(";", "after the statement"); err != nil {
				return nil, err
			}
		}
	}
	return &StmtExpr{p.span(pos), nodes}, p.expect(")", "after the statements")
}

func (p *parser) declStart() bool {
	t := p.tok()
	if t.kind != tIdent {
		return false
	}
	if t.text == "static" || t.text == "__auto_type" || p.typeStart() {
		return true
	}
	// "name name" can only be a declaration.
	return p.peek(1).kind == tIdent && t.text != "sizeof" && t.text != "__extension__"
}

func (p *parser) decl() (Node, error) {
	pos := p.tok().pos
	for p.tok().text == "static" && p.tok().kind == tIdent {
		p.i++
	}
	var typ *Type
	if t := p.tok(); t.kind == tIdent && t.text == "__auto_type" {
		p.i++
	} else {
		var err error
		if typ, err = p.typeName(); err != nil {
			return nil, err
		}
	}
	name := p.tok()
	if name.kind != tIdent {
		return nil, p.errorf(name.pos, "got %s, want the name of a variable", p.show(name))
	}
	p.i++
	if p.is("[") && typ != nil {
		n, err := p.dimension()
		if err != nil {
			return nil, err
		}
		typ = ArrayOf(typ, n)
	}
	d := &Decl{Type: typ, Name: name.text}
	if p.accept("=") {
		var err error
		if d.Init, err = p.argument(); err != nil {
			return nil, err
		}
	}
	if typ == nil && d.Init == nil {
		return nil, p.errorf(name.pos, "variable %s has neither type nor value", name.text)
	}
	d.Span = p.span(pos)
	return d, nil
}

// dimension reads "[n]" or "[]", which is -1.
func (p *parser) dimension() (int, error) {
	p.i++
	if p.accept("]") {
		return -1, nil
	}
	t := p.tok()
	if t.kind != tNumber || t.num > 1<<20 {
		return 0, p.errorf(t.pos, "got %s, want a number of elements", p.show(t))
	}
	p.i++
	return int(t.num), p.expect("]", "after the number of elements")
}
