package c

// words that are part of a basic type's name.
var basicWords = map[string]bool{
	"char": true, "short": true, "int": true, "long": true,
	"signed": true, "unsigned": true, "__signed__": true,
}

var qualifiers = map[string]bool{
	"const": true, "volatile": true, "restrict": true, "__restrict": true, "__user": true,
	"__iomem": true, "__rcu": true, "__percpu": true, "__force": true, "__bitwise": true,
}

// typeStart reports that the current token begins a type.
func (p *parser) typeStart() bool {
	t := p.tok()
	if t.kind != tIdent {
		return false
	}
	if basicWords[t.text] || qualifiers[t.text] {
		return true
	}
	switch t.text {
	case "struct", "union", "enum", "typeof", "__typeof__":
		return true
	}
	_, ok := named[t.text]
	return ok
}

// typeName reads a type: specifiers, then stars and "[n]".
func (p *parser) typeName() (*Type, error) {
	t, err := p.specifiers()
	if err != nil {
		return nil, err
	}
	for {
		switch tok := p.tok(); {
		case p.accept("*"):
			t = PtrTo(t)
		case tok.kind == tIdent && qualifiers[tok.text]:
			p.i++
		case p.is("["):
			n, err := p.dimension()
			if err != nil {
				return nil, err
			}
			t = ArrayOf(t, n)
		default:
			return t, nil
		}
	}
}

func (p *parser) specifiers() (*Type, error) {
	first := p.tok()
	count := map[string]int{}
	var typ *Type
	for ; p.tok().kind == tIdent; p.i++ {
		t := p.tok()
		switch {
		case qualifiers[t.text]:
			continue
		case typ == nil && basicWords[t.text]:
			count[t.text]++
			continue
		case typ != nil || len(count) > 0:
		case t.text == "struct" || t.text == "union" || t.text == "enum":
			p.i++
			name := p.tok()
			if name.kind != tIdent {
				return nil, p.errorf(name.pos, "got %s, want the name of the %s", p.show(name), t.text)
			}
			typ = &Type{Kind: Record, Name: t.text + " " + name.text}
			if t.text == "enum" {
				typ = &Type{Kind: Int, Size: 4, Unsigned: true, Name: typ.Name}
			}
			continue
		case t.text == "typeof" || t.text == "__typeof__":
			var err error
			if typ, err = p.typeof(); err != nil {
				return nil, err
			}
			p.i-- // the loop steps over the last token
			continue
		default:
			var ok bool
			if typ, ok = named[t.text]; !ok {
				typ = &Type{Kind: Unknown, Name: t.text}
			}
			continue
		}
		break
	}
	if typ != nil {
		return typ, nil
	}
	return p.basic(first, count)
}

func (p *parser) basic(first token, n map[string]int) (*Type, error) {
	signed := n["signed"] + n["__signed__"]
	total := n["char"] + n["short"] + n["int"] + n["long"] + signed + n["unsigned"]
	bad := total == 0 || n["char"] > 1 || n["short"] > 1 || n["int"] > 1 || n["long"] > 2 ||
		signed+n["unsigned"] > 1 || n["char"] == 1 && n["short"]+n["int"]+n["long"] > 0 ||
		n["short"] == 1 && n["long"] > 0
	if bad {
		return nil, p.errorf(first.pos, "%q is not a type", p.src[first.pos:p.end()])
	}
	size := 4
	switch {
	case n["char"] == 1:
		size = 1
	case n["short"] == 1:
		size = 2
	case n["long"] > 0:
		size = 8
	}
	t := Basic(size, n["unsigned"] == 1)
	if n["long"] == 2 {
		name := "long long"
		if t.Unsigned {
			name = "unsigned long long"
		}
		t = &Type{Kind: Int, Size: 8, Unsigned: t.Unsigned, Name: name}
	}
	return t, nil
}

// typeof reads "typeof(x)"; x is a type or an expression.
func (p *parser) typeof() (*Type, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	p.i++
	if err := p.expect("(", "after typeof"); err != nil {
		return nil, err
	}
	if p.typeStart() {
		t, err := p.typeName()
		if err != nil {
			return nil, err
		}
		return t, p.expect(")", "after the type")
	}
	x, err := p.comma()
	if err != nil {
		return nil, err
	}
	return &Type{Kind: TypeOf, Of: x}, p.expect(")", "after the expression")
}
