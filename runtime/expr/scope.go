package expr

import (
	"fmt"
	"maps"
	"sort"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr/c"
)

// A Scope gives names their meaning. Only Schema is usually needed.
type Scope struct {
	// Schema is of the event itself: its fields and the sample members are
	// variables, and members of REC. A dynamic field NAME also gives
	// NAME_offset and NAME_len. Nil if there is no event.
	Schema *event.Schema
	// Stream is that of the events if they are known to be of one: two of
	// one schema may have different Vars.
	Stream *event.Stream
	// Parts are the events of a pair, "start" and "end", whose fields are
	// written start.pid.
	Parts map[string]*event.Schema
	// Consts are named integers, Vars named IR nodes (a slot, a state).
	// Vars["start.x"] is the member x of a part; it hides a field.
	Consts map[string]int64
	Vars   map[string]Node
	// Types are typedefs beside those of package c.
	Types map[string]*c.Type
	// Builtins are functions beside the standard ones, which they hide.
	Builtins map[string]Builtin
	// Services are the functions that the standard builtins call.
	Services Services
	// Source is the text that a tree given to Compile was parsed from, for
	// the excerpt in errors. CompileC sets it itself.
	Source string
}

// A Builtin lowers calls of one name. It gets the syntax trees of the
// arguments through the Call, and makes any node, usually a Native.
type Builtin struct {
	// Usage is shown when a call has the wrong number of arguments:
	// "strncmp(a, b, n)".
	Usage string
	// Min and Max bound the number of arguments; Max < 0 is no bound.
	Min, Max int
	// Lower makes the node. The C type of the result is int for a bool,
	// char * for a Str, long or unsigned long for an Int, unless it calls
	// Call.As.
	Lower func(call *Call) (Node, error)
}

// names lists the variables of a scope.
func (sc *Scope) names() []string {
	var names []string
	if sc.Schema != nil {
		sc.Schema.Field("") // Names needs the index that Field makes
		for _, n := range sc.Schema.Names() {
			names = append(names, n)
			if f, ok := sc.Schema.Field(n); ok && dynamic(f) {
				names = append(names, n+"_offset", n+"_len")
			}
		}
	}
	var more []string
	for part, s := range sc.Parts {
		for i := range s.Fields {
			more = append(more, part+"."+s.Fields[i].Name)
		}
	}
	for n := range sc.Consts {
		more = append(more, n)
	}
	for n := range sc.Vars {
		more = append(more, n)
	}
	sort.Strings(more)
	return append(names, more...)
}

func dynamic(f *event.Field) bool { return f.Place == event.DataLoc || f.Place == event.RelLoc }

// CompileC compiles a C expression of a user.
func CompileC(src string, sc *Scope) (*Program, error) {
	n, err := LowerC(src, sc)
	if err != nil {
		return nil, err
	}
	return Build(n), nil
}

// CompileFilter compiles a tracepoint filter, for events that no kernel
// filters: a recording, an event from elsewhere. It takes C expressions and,
// beyond them, strings in single quotes, CPU and COMM.
func CompileFilter(src string, sc *Scope) (*Program, error) {
	inner := Scope{}
	if sc != nil {
		inner = *sc
	}
	inner.Vars = map[string]Node{}
	if s := inner.Schema; s != nil {
		for name, member := range map[string]string{"CPU": "_cpu", "COMM": "_comm"} {
			_, own := s.Field(name)
			if f, ok := s.Field(member); ok && !own {
				inner.Vars[name] = NewField(f, Self)
			}
		}
	}
	if sc != nil {
		maps.Copy(inner.Vars, sc.Vars)
	}
	p, err := CompileC(src, &inner)
	if err == nil {
		return p, nil
	}
	tree, quoted := c.ParseFilter(src)
	if quoted != nil {
		return nil, err
	}
	inner.Source = src
	n, lowered := Lower(tree, &inner)
	if lowered != nil {
		// The parser that got further has the better error.
		if _, plain := c.Parse(src); plain != nil {
			return nil, lowered
		}
		return nil, err
	}
	return Build(n), nil
}

// LowerC lowers a C expression to IR.
func LowerC(src string, sc *Scope) (Node, error) {
	tree, err := c.Parse(src)
	if err != nil {
		return nil, err
	}
	inner := Scope{}
	if sc != nil {
		inner = *sc
	}
	inner.Source = src
	return Lower(tree, &inner)
}

// Compile compiles a syntax tree, such as an argument of a print fmt.
func Compile(tree c.Node, sc *Scope) (*Program, error) {
	n, err := Lower(tree, sc)
	if err != nil {
		return nil, err
	}
	return Build(n), nil
}

// Lower lowers a syntax tree to IR. Texts and arrays of the event become Str,
// pointers the unsigned integer that they are; Frame.Memory reads the targets
// of pointers into the event.
func Lower(tree c.Node, sc *Scope) (Node, error) {
	if sc == nil {
		sc = &Scope{}
	}
	l := &lowerer{sc: sc, src: sc.Source, vars: map[string]*variable{}, standard: standard()}
	if l.src == "" {
		l.tree = tree
	}
	l.findAssigned(tree)
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
	return &Seq{append(l.prologue, n), n.Type()}, nil
}

// errorf is an error at a node. With a tree that came without its source
// there is no column to show.
func (l *lowerer) errorf(at c.Node, format string, args ...any) error {
	return l.errorAt(at.Pos(), format, args...)
}

func (l *lowerer) errorAt(pos int, format string, args ...any) error {
	if l.tree != nil {
		return diag.Errorf(diag.Usage, "expression", "'"+l.tree.String()+"'", "%s",
			fmt.Sprintf(format, args...))
	}
	return c.Errorf(l.src, pos, format, args...)
}
