package tracefs

import (
	"errors"
	"maps"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/expr/cexpr"
)

// errVariable marks an argument that reads a variable of the kernel.
var errVariable = errors.New("a variable of the kernel")

// A builder compiles the arguments of one print fmt.
type builder struct {
	p     *printer
	scope expr.Scope
	text  cexpr.Text
	// missing are the names whose values are unknown.
	missing map[string]bool
}

func newBuilder(p *printer, args []c.Node, src string) *builder {
	b := &builder{p: p, missing: map[string]bool{}}
	b.scope = expr.Scope{Schema: p.schema}
	b.text = cexpr.Text{Source: src, Builtins: b.helpers()}
	b.resolveNames(args)
	return b
}

// resolveNames looks up the enumerators that the arguments name.
func (b *builder) resolveNames(args []c.Node) {
	local := map[string]bool{"REC": true}
	skip := map[c.Node]bool{}
	var names []string
	for _, a := range args {
		c.Walk(a, func(n c.Node) {
			switch n := n.(type) {
			case *c.Decl:
				local[n.Name] = true
			case *c.Call:
				// The function's name is not an enumerator, and neither is the
				// name of the field in __get_str(field) and similar calls.
				skip[n.Fun] = true
				if fun, ok := n.Fun.(*c.Ident); ok && fieldHelpers[fun.Name] && len(n.Args) > 0 {
					skip[n.Args[0]] = true
				}
			case *c.Ident:
				if !skip[n] && !local[n.Name] && !b.missing[n.Name] {
					b.missing[n.Name] = true
					names = append(names, n.Name)
				}
			}
		})
	}
	b.scope.Consts = map[string]int64{"true": 1, "false": 0}
	delete(b.missing, "true")
	delete(b.missing, "false")
	if len(b.missing) == 0 {
		return
	}
	find := func(values map[string]int64) {
		for name, v := range values {
			if b.missing[name] {
				b.scope.Consts[name] = v
				delete(b.missing, name)
			}
		}
	}
	if b.p.opt.Enums != nil {
		find(b.p.opt.Enums(names))
	}
	if len(b.missing) > 0 {
		find(stableEnums)
	}
}

// lower converts an argument to a node of expr. It returns errVariable if the
// only obstacle is a variable of the kernel, whose value is unknown.
func (b *builder) lower(tree c.Node) (expr.Node, error) {
	node, err := cexpr.LowerTree(tree, &b.scope, b.text)
	if err == nil || len(b.missing) == 0 {
		return node, err
	}
	tables := len(b.p.tables)
	with := b.scope
	with.Consts = maps.Clone(with.Consts)
	for name := range b.missing {
		with.Consts[name] = 0
	}
	if _, again := cexpr.LowerTree(tree, &with, b.text); again == nil {
		err = errVariable
	}
	b.p.tables = b.p.tables[:tables]
	return nil, err
}

// number compiles a width or precision; nil if it cannot be computed.
func (b *builder) number(tree c.Node) *expr.Program {
	if tree == nil {
		return nil
	}
	n, err := b.lower(tree)
	if err == nil && n.Type().Numeric() {
		return expr.Build(n)
	}
	if err != errVariable {
		b.fail(err)
	}
	return nil
}

// argument compiles the argument of a conversion and chooses how it is printed.
func (b *builder) argument(s *spec, tree c.Node) (opKind, *expr.Program) {
	if tree == nil {
		return opUnknown, nil // fewer arguments than conversions
	}
	pointer := byAddress
	if s.verb == 'p' {
		if pointer = kindOf(s.ext); pointer == unknownPointer {
			return opUnknown, nil
		}
	}
	n, err := b.lower(tree)
	if err == errVariable {
		return opUnknown, nil
	}
	if err != nil {
		b.fail(err)
		return opUnknown, nil
	}
	prog := expr.Build(n)
	text := n.Type().Kind == expr.Str
	switch {
	case !text && !n.Type().Numeric():
		return opUnknown, nil
	case s.verb == 's' && text:
		return opText, prog
	case s.verb == 's':
		return opTextAddr, prog
	case s.verb == 'p' && pointer == byData && text:
		return opData, prog
	case s.verb == 'p' && pointer == byData:
		return opDataAddr, prog
	case text: // the address of a text or an array in the kernel's buffer
		return opUnknown, nil
	case s.verb == 'p':
		return opAddress, prog
	case s.verb == 'c':
		return opChar, prog
	}
	return opInt, prog
}

// fail keeps the first reason why the print fmt cannot be evaluated.
func (b *builder) fail(err error) {
	if b.p.reason == nil && err != nil {
		b.p.reason = err
	}
}

// stableEnums are enumerators of the kernel's user interface. They never
// change, so print fmts of recordings can be resolved with them.
var stableEnums = map[string]int64{
	"TCP_ESTABLISHED":      1,
	"TCP_SYN_SENT":         2,
	"TCP_SYN_RECV":         3,
	"TCP_FIN_WAIT1":        4,
	"TCP_FIN_WAIT2":        5,
	"TCP_TIME_WAIT":        6,
	"TCP_CLOSE":            7,
	"TCP_CLOSE_WAIT":       8,
	"TCP_LAST_ACK":         9,
	"TCP_LISTEN":           10,
	"TCP_CLOSING":          11,
	"TCP_NEW_SYN_RECV":     12,
	"TCP_BOUND_INACTIVE":   13,
	"IOPRIO_CLASS_NONE":    0,
	"IOPRIO_CLASS_RT":      1,
	"IOPRIO_CLASS_BE":      2,
	"IOPRIO_CLASS_IDLE":    3,
	"IOPRIO_CLASS_INVALID": 7,
}
