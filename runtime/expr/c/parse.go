package c

import "fmt"

// Bounds on hostile input, which would overflow the stack. The largest print
// fmt of a kernel has 5 KB, 3,000 parts, and some 40 levels.
const (
	maxSource = 1 << 18
	maxDepth  = 400
	maxNodes  = 20_000
)

type parser struct {
	src   string
	toks  []token
	i     int
	depth int
	nodes int
	// kernel allows line ends inside strings, as in print fmts.
	kernel bool
	// filter allows strings in single quotes, as in tracepoint filters.
	filter bool
}

// Parse reads one expression, which may have comma operators.
func Parse(src string) (Node, error) { return parse(&parser{src: src}) }

// ParseFilter reads a tracepoint filter, whose strings may be in single quotes:
// comm == 'bash'.
func ParseFilter(src string) (Node, error) { return parse(&parser{src: src, filter: true}) }

func parse(p *parser) (Node, error) {
	if err := p.start(); err != nil {
		return nil, err
	}
	if p.tok().kind == tEOF {
		return nil, p.errorf(0, "nothing to evaluate: the expression is empty")
	}
	n, err := p.comma()
	if err != nil {
		return nil, err
	}
	if t := p.tok(); t.kind != tEOF {
		return nil, p.errorf(t.pos, "unexpected %s after the end of the expression", p.show(t))
	}
	return n, nil
}

// ParseArgs reads the argument list of a print fmt: the format, a String, and
// the arguments after it.
func ParseArgs(src string) ([]Node, error) {
	p := &parser{src: src, kernel: true}
	if err := p.start(); err != nil {
		return nil, err
	}
	if t := p.tok(); t.kind != tString {
		return nil, p.errorf(t.pos, "got %s, want the format in quotes", p.show(t))
	}
	var args []Node
	for {
		n, err := p.assign()
		if err != nil {
			return nil, err
		}
		args = append(args, n)
		if _, ok := args[0].(*String); !ok {
			return nil, p.errorf(n.Pos(), "the format is not a plain string")
		}
		if p.accept(",") {
			continue
		}
		if t := p.tok(); t.kind != tEOF {
			return nil, p.errorf(t.pos, "unexpected %s, want a comma or the end", p.show(t))
		}
		return args, nil
	}
}

func (p *parser) start() error {
	if len(p.src) > maxSource {
		return p.errorf(0, "expression is too long: got %d bytes, want at most %d", len(p.src), maxSource)
	}
	return p.lex()
}

func (p *parser) errorf(pos int, format string, args ...any) error {
	return Errorf(p.src, pos, format, args...)
}

func (p *parser) tok() token { return p.toks[p.i] }

func (p *parser) peek(n int) token {
	if p.i+n < len(p.toks) {
		return p.toks[p.i+n]
	}
	return p.toks[len(p.toks)-1]
}

func (p *parser) is(op string) bool {
	t := p.tok()
	return t.kind == tOp && t.text == op
}

func (p *parser) accept(op string) bool {
	if p.is(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(op, what string) error {
	if p.accept(op) {
		return nil
	}
	return p.errorf(p.tok().pos, "got %s, want %q %s", p.show(p.tok()), op, what)
}

// show is the text for a token in a message.
func (p *parser) show(t token) string {
	if t.kind == tEOF {
		return "the end"
	}
	return fmt.Sprintf("%q", p.src[t.pos:t.end])
}

// end is the end of the token before the current one.
func (p *parser) end() int {
	if p.i == 0 {
		return 0
	}
	return p.toks[p.i-1].end
}

func (p *parser) span(start int) Span { return Span{start, p.end()} }

// enter counts a level of nesting; leave ends the level.
func (p *parser) enter() error {
	p.depth++
	p.nodes++
	if p.depth > maxDepth {
		return p.errorf(p.tok().pos, "expression is nested deeper than %d levels", maxDepth)
	}
	if p.nodes > maxNodes {
		return p.errorf(p.tok().pos, "expression has more than %d parts", maxNodes)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) comma() (Node, error) {
	x, err := p.assign()
	for err == nil && p.is(",") {
		pos := p.tok().pos
		p.i++
		var y Node
		if y, err = p.assign(); err == nil {
			x = &Binary{p.span(x.Pos()), ",", pos, x, y}
		}
	}
	return x, err
}

var assignOps = map[string]string{
	"=": "", "+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%",
	"&=": "&", "|=": "|", "^=": "^", "<<=": "<<", ">>=": ">>",
}

func (p *parser) assign() (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.cond()
	if err != nil {
		return nil, err
	}
	t := p.tok()
	op, ok := assignOps[t.text]
	if t.kind != tOp || !ok {
		return x, nil
	}
	p.i++
	y, err := p.assign()
	if err != nil {
		return nil, err
	}
	return &Assign{p.span(x.Pos()), op, t.pos, x, y}, nil
}

func (p *parser) cond() (Node, error) {
	test, err := p.binary(1)
	if err != nil || !p.accept("?") {
		return test, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	var then Node
	if !p.is(":") {
		if then, err = p.comma(); err != nil {
			return nil, err
		}
	}
	if err := p.expect(":", "of ?:"); err != nil {
		return nil, err
	}
	other, err := p.cond()
	if err != nil {
		return nil, err
	}
	return &Cond{p.span(test.Pos()), test, then, other}, nil
}

// levels are the precedences of the infix operators; a higher one binds
// tighter.
var levels = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6,
	"<": 7, "<=": 7, ">": 7, ">=": 7, "~": 7, "<<": 8, ">>": 8,
	"+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}

// binary reads operators of at least the level, all left-associative.
func (p *parser) binary(level int) (Node, error) {
	x, err := p.unary()
	for err == nil {
		t := p.tok()
		l := levels[t.text]
		if t.kind != tOp || l < level {
			return x, nil
		}
		p.i++
		if p.nodes++; p.nodes > maxNodes {
			return nil, p.errorf(t.pos, "expression has more than %d parts", maxNodes)
		}
		var y Node
		if y, err = p.binary(l + 1); err == nil {
			x = &Binary{p.span(x.Pos()), t.text, t.pos, x, y}
		}
	}
	return nil, err
}
