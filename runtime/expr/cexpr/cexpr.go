// Package cexpr is the C front end: it compiles expressions of users and of the
// kernel's print fmts to programs of package expr.
//
//	p, err := cexpr.Compile("prev_prio < 100 && next_comm ~ \"kworker*\"", &expr.Scope{Schema: s})
//
// # Print fmts
//
// The arguments of a tracepoint's print fmt are C expressions too:
//
//	args, err := c.ParseArgs(schema.PrintFmt)     // args[0] is the format, a *c.String
//	p, err := cexpr.CompileTree(args[1], &expr.Scope{Schema: schema})
//
// __print_symbolic and its family are builtins whose result is a Str. Text
// fields are a Str; array fields are a Str of all their bytes (%pI6, %pU); a
// pointer is an Int, and Frame.Memory returns the bytes if it points into the
// event. Text.Builtins adds functions:
//
//	text.Builtins = map[string]cexpr.Builtin{"jiffies_to_msecs": {
//		Usage: "jiffies_to_msecs(x)", Min: 1, Max: 1,
//		Lower: func(k *cexpr.Call) (expr.Node, error) {
//			x, err := k.Int(0)
//			if err != nil {
//				return nil, err
//			}
//			return expr.NewNative(expr.Native{Name: k.Name, T: expr.TInt, Args: []expr.Node{x},
//				HostOnly: "it is for print formats",
//				Int1: func(_ *expr.Frame, x int64) int64 { return x * 4 }})
//		},
//	}}
package cexpr

import (
	"fmt"
	"maps"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/text/diag"
)

// A Text describes the origin of a syntax tree. The zero Text is valid.
type Text struct {
	// Source is the parsed text, for the excerpt in errors.
	Source string
	// Builtins are additional functions, which hide standard ones with the same
	// name.
	Builtins map[string]Builtin
	// Condition says that only the truth of the expression is needed.
	Condition bool
}

// Compile compiles a C expression of a user.
func Compile(src string, sc *expr.Scope) (*expr.Program, error) {
	n, err := Lower(src, sc)
	if err != nil {
		return nil, err
	}
	return expr.Build(n), nil
}

// CompileCondition compiles a user's C expression that is a condition.
func CompileCondition(src string, sc *expr.Scope) (*expr.Program, error) {
	tree, err := c.Parse(src)
	if err != nil {
		return nil, err
	}
	n, err := LowerTree(tree, sc, Text{Source: src, Condition: true})
	if err != nil {
		return nil, err
	}
	return expr.Build(n), nil
}

// CompileFilter compiles a tracepoint filter for events that the kernel does
// not filter: of a recording or another machine. It accepts C expressions, and
// in addition strings in single quotes, CPU and COMM.
func CompileFilter(src string, sc *expr.Scope) (*expr.Program, error) {
	inner := expr.Scope{}
	if sc != nil {
		inner = *sc
	}
	inner.Vars = map[string]expr.Node{}
	if s := inner.Schema; s != nil {
		for name, member := range map[string]string{"CPU": "_cpu", "COMM": "_comm"} {
			_, own := s.Field(name)
			if f, ok := s.Field(member); ok && !own {
				inner.Vars[name] = expr.NewField(f, expr.Self)
			}
		}
	}
	if sc != nil {
		maps.Copy(inner.Vars, sc.Vars)
	}
	p, err := CompileCondition(src, &inner)
	if err == nil {
		return p, nil
	}
	tree, quoted := c.ParseFilter(src)
	if quoted != nil {
		return nil, err
	}
	n, lowered := LowerTree(tree, &inner, Text{Source: src, Condition: true})
	if lowered != nil {
		// Return the error of the parser that got further.
		if _, plain := c.Parse(src); plain != nil {
			return nil, lowered
		}
		return nil, err
	}
	return expr.Build(n), nil
}

// CompileTree compiles a syntax tree, such as an argument of a print fmt.
func CompileTree(tree c.Node, sc *expr.Scope) (*expr.Program, error) {
	n, err := LowerTree(tree, sc, Text{})
	if err != nil {
		return nil, err
	}
	return expr.Build(n), nil
}

// Lower lowers a C expression to IR, the nodes of package expr.
func Lower(src string, sc *expr.Scope) (expr.Node, error) {
	tree, err := c.Parse(src)
	if err != nil {
		return nil, err
	}
	return LowerTree(tree, sc, Text{Source: src})
}

// LowerTree lowers a syntax tree to IR. Texts and arrays of the event become a
// Str, pointers an unsigned integer; Frame.Memory reads the targets of pointers
// into the event.
func LowerTree(tree c.Node, sc *expr.Scope, from Text) (expr.Node, error) {
	if sc == nil {
		sc = &expr.Scope{}
	}
	l := &lowerer{
		sc:        sc,
		functions: functions{from.Builtins, standard()},
		src:       from.Source,
		vars:      map[string]*variable{},
		assigned:  assignedIn(tree),
	}
	if l.src == "" {
		l.tree = tree
	}
	if err := l.conditions(tree, from.Condition); err != nil {
		return nil, err
	}
	v, err := l.expr(tree)
	if err != nil {
		return nil, err
	}
	n, err := l.root(v)
	if err != nil {
		return nil, l.errorf(tree, "%v", err)
	}
	if len(l.prologue) == 0 {
		return n, nil
	}
	return &expr.Seq{List: append(l.prologue, n), T: n.Type()}, nil
}

// errorf makes an error at a node. Without Text.Source it has no column.
func (l *lowerer) errorf(at c.Node, format string, args ...any) error {
	return l.errorAt(at.Pos(), format, args...)
}

func (l *lowerer) errorAt(pos int, format string, args ...any) error {
	if l.tree != nil {
		return diag.Errorf(diag.Usage, "expression", "'"+l.tree.String()+"'", "%w",
			fmt.Errorf(format, args...))
	}
	return c.Errorf(l.src, pos, format, args...)
}
