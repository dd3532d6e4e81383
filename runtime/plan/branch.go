package plan

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/text/diag"
)

// This file flattens the streams that keep no state. Where, Let and Merge in
// any nesting over events are the same as a set of branches: each stream that
// can arrive, with the predicates on its way and the names that it can use. One
// operator then applies the predicates of all branches to the merged events, in
// their order. (Running each Where on its own and merging behind them would
// have to sort again.)

// A branch is one event stream that can reach an operator, with the script's
// predicates and names for it.
type branch struct {
	root   root // nil: the router
	stream int
	scope  *expr.Scope
	preds  []*graph.Pred
	marks  marks
	as     *Source // the name and attributes that the user gave the script it comes from
}

// schemaOf is the schema of a branch's events, or of a part of its pairs.
func (br *branch) schemaOf(p expr.Part) *event.Schema {
	return br.scope.Part(p.Name())
}

// stateful is the State of a predicate that remembers events.
type stateful interface {
	program(in *Instance) *expr.Program
}

// remembersHere is the reason that explain gives for a stateful predicate:
// ppscript evaluates it, not a program.
const remembersHere = "its state is in ppscript's memory"

// placeholder marks a stateful predicate in a plan that is not running.
func placeholder(name string) *expr.Program {
	return expr.Build(&expr.Native{
		Name:     name,
		T:        expr.TBool,
		Effect:   true,
		HostOnly: remembersHere,
		Int: func(*expr.Frame, []expr.Arg) int64 {
			panic("BUG: " + name + " runs in instances only")
		},
	})
}

// conjunction is one program that is true if all predicates are; nil if there
// are none.
func (in *Instance) conjunction(preds []*graph.Pred) *expr.Program {
	var all []*expr.Program
	for _, p := range preds {
		prog := p.Prog
		if p.Stateful() {
			prog = p.State.(stateful).program(in)
		}
		all = append(all, prog)
	}
	if len(all) == 0 {
		return nil
	}
	return expr.All(all)
}

// findSources opens every source below s, in order.
func (b *builder) findSources(s Stream) error {
	if src, ok := s.(*Source); ok {
		_, err := b.branchesOf(src)
		return err
	}
	if _, ok := s.(*Profiler); ok {
		defer func(outer bool) { b.inner = outer }(b.inner)
		b.inner = true
	}
	for _, in := range s.Inputs() {
		if err := b.findSources(in); err != nil {
			return err
		}
	}
	return nil
}

// existing is branchesOf for a report. It is an error if no event is left,
// since all sources may be optional.
func (b *builder) existing(report string, s Stream) ([]branch, error) {
	brs, err := b.branchesOf(s)
	if err == nil && len(brs) == 0 {
		for _, src := range sourcesOf(s, nil) {
			if unknown := b.unknown[src]; unknown != nil {
				return nil, unknown
			}
		}
		err = diag.Errorf(diag.Attach, report, "", "none of its events exists here").
			WithHint("list the events: ppscript list")
	}
	return brs, err
}

// branchesOf returns the branches of s. The caller may change the slice.
func (b *builder) branchesOf(s Stream) ([]branch, error) {
	if have, ok := b.memo[s]; ok {
		return append([]branch(nil), have...), nil
	}
	brs, err := s.branches(b)
	if err != nil {
		return nil, err
	}
	brs = named(brs)
	b.memo[s] = brs
	return append([]branch(nil), brs...), nil
}

func (m *Merge) branches(b *builder) ([]branch, error) {
	var all []branch
	for _, in := range m.In {
		brs, err := b.branchesOf(in)
		if err != nil {
			return nil, err
		}
		all = append(all, brs...)
	}
	return b.distinct(all)
}

// leaveOut notes that an optional event does not exist here. The note does not
// read like an error.
func (b *builder) leaveOut(s *Source, why error) {
	env := &b.env
	if unknown := (*diag.Unverified)(nil); errors.As(why, &unknown) {
		b.unknown[s] = unknown
		b.unverified[unknown.Error()] = true
		return
	}
	var e *diag.Error
	if errors.As(why, &e) && e.Cause != nil {
		why = e.Cause
	}
	if env.Note != nil && !s.Quiet {
		env.Note(fmt.Errorf("goes on without %s: %w", s.FullName(), why))
	}
}

// lacksBeside says why the companion event that a source needs cannot be opened; nil if it can.
func (b *builder) lacksBeside(s *Source) error {
	system, name, ok := strings.Cut(s.Beside, ":")
	if !ok {
		return nil
	}
	beside := eventspec.Spec{Kind: s.Kind, System: system, Name: name}
	schemas, err := b.env.Catalog.Find(&Source{Spec: beside})
	k := &b.env.KernelEnv
	if err != nil || b.env.Replay || k.Host != nil && k.No == "" || k.OnlyCounted == nil {
		return err
	}
	for _, schema := range schemas {
		if k.OnlyCounted(schema) {
			return fmt.Errorf("the kernel lets %s be counted, not sampled; programs see it, "+
				"by --engine auto or bpf", s.Beside)
		}
	}
	return nil
}

func (s *Source) branches(b *builder) ([]branch, error) {
	if why := b.lacksBeside(s); why != nil {
		b.leaveOut(s, why)
		return nil, nil
	}
	if s.Kind == eventspec.Tool {
		return nil, diag.Errorf(diag.Usage, "event", s.FullName(), "it is a time, and never happens").
			WithHint("count it: ppscript stat -e %s -- COMMAND", s.Name)
	}
	schemas, err := b.env.Catalog.Find(s)
	if err != nil {
		if s.Optional {
			b.leaveOut(s, err)
			return nil, nil
		}
		return nil, err
	}
	var brs []branch
	for _, schema := range schemas {
		if !s.Takes(schema.Names()) {
			continue
		}
		br := branch{stream: b.newStream(s, schema), scope: b.scope(s, schema)}
		br.scope.Stream = b.plan.streams[br.stream]
		if err := b.events[br.stream].filter(b, br.scope); err != nil {
			return nil, err
		}
		brs = append(brs, br)
	}
	return brs, nil
}

func (w *Where) branches(b *builder) ([]branch, error) {
	brs, err := b.branchesOf(w.In)
	if err != nil {
		return nil, err
	}
	if err := w.Pred.check(brs); err != nil {
		return nil, err
	}
	for i := range brs {
		br := &brs[i]
		p, err := b.compile(w.Pred, br, expr.Bool)
		if err != nil {
			return nil, err
		}
		br.preds = append(br.preds[:len(br.preds):len(br.preds)], &graph.Pred{Text: w.Pred.label(), Prog: p})
	}
	return brs, nil
}

func (l *Let) branches(b *builder) ([]branch, error) {
	brs, err := b.branchesOf(l.In)
	if err != nil {
		return nil, err
	}
	for _, v := range l.Vars {
		if err := v.Fn.check(brs); err != nil {
			return nil, err
		}
	}
	for i := range brs {
		br := &brs[i]
		sc := *br.scope
		sc.Vars = maps.Clone(sc.Vars)
		br.scope = &sc // a name may use those before it
		for _, v := range l.Vars {
			p, err := b.compile(v.Fn, br, expr.Any)
			if err != nil {
				return nil, err
			}
			if p.Node == nil {
				would := b.prints.NodeOf(p)
				// A name has one kind of value, also where an interpreted
				// function computes it.
				if p, err = interpretedLet(v.Fn.Call, br.scope); err != nil {
					return nil, located(err, v.Fn.Pos)
				}
				b.prints.Would(p.Node, would)
			}
			sc.Vars[v.Name] = p.Node
			if l.Whose {
				b.whose[p.Node] = true
			}
		}
	}
	return brs, nil
}

// A resulter is a Callable that knows the type of its result.
type resulter interface {
	Result(events []*expr.Scope) event.Type
}

// interpretedLet makes the program for a let whose function stays interpreted.
// Its result is a number unless the function declares another type.
func interpretedLet(call Callable, sc *expr.Scope) (*expr.Program, error) {
	t := expr.TInt
	if r, ok := call.(resulter); ok {
		if known := r.Result([]*expr.Scope{sc}); known.Kind != expr.Any {
			t = known
		}
	}
	p, unit := expr.Interpreted(call.Call, t), t.Unit
	if unit != event.Nanos && unit != event.Moment {
		return p, nil
	}
	n, err := expr.NewQuantity(p.Node, unit)
	if err != nil {
		return nil, err
	}
	return expr.Build(n), nil
}

// label names a function in messages: by its text, or by its place in the
// script.
func (f Fn) label() string {
	if f.Call != nil {
		return f.Call.Name() + " at " + f.Call.Pos()
	}
	return f.Text
}

// check lets a script's function verify that the events it will get have the
// fields it reads.
func (f Fn) check(brs []branch) error {
	for _, m := range f.List {
		if err := m.check(brs); err != nil {
			return err
		}
	}
	if f.Call == nil {
		return nil
	}
	scopes := make([]*expr.Scope, len(brs))
	for i := range brs {
		scopes[i] = brs[i].scope
	}
	return located(f.Call.Check(scopes), f.Pos)
}

// compile compiles f for a branch. The program's result has the kind want; Any
// accepts every kind. Float accepts integers too, which Program.Float converts.
func (b *builder) compile(f Fn, br *branch, want expr.Kind) (*expr.Program, error) {
	p, err := f.program(b, br, want)
	if err != nil {
		return nil, err
	}
	b.programs = append(b.programs, p)
	b.uses(br, p)
	b.plan.explainFn(f, p)
	return p, nil
}

func (f Fn) program(b *builder, br *branch, want expr.Kind) (*expr.Program, error) {
	if f.Call != nil {
		return b.scriptFn(f.Call, br, want)
	}
	if f.Const != nil {
		return expr.Build(f.Const), nil
	}
	if f.List != nil {
		return f.composite(b, br)
	}
	compile := cexpr.Compile
	if want == expr.Bool {
		compile = cexpr.CompileCondition
	}
	p, err := compile(f.Text, br.scope)
	if err != nil {
		return nil, located(err, f.Pos)
	}
	switch {
	case want == expr.Any || p.Type.Kind == want:
		return p, nil
	case (want == expr.Int || want == expr.Float) && p.Type.Numeric():
		return p, nil
	case want == expr.Bool:
		return p, nil // numbers and texts have a truth
	}
	return nil, located(diag.Errorf(diag.Run, "expression", f.Text, "got a %s, want a number", p.Type).
		WithHint("use a numeric field of %s", br.scope.Schema.FullName()), f.Pos)
}

// composite compiles a list of functions into one program, whose result is a
// tuple.
func (f Fn) composite(b *builder, br *branch) (*expr.Program, error) {
	members := make([]*expr.Program, len(f.List))
	nodes := make([]expr.Node, len(f.List))
	typed := true
	for i, m := range f.List {
		p, err := m.program(b, br, expr.Any)
		if err != nil {
			return nil, err
		}
		if p.Node == nil {
			if p, err = b.resultOf(m.Call, p, br.scope); err != nil {
				return nil, located(err, m.Pos)
			}
		}
		members[i], nodes[i] = p, p.Node
		typed = typed && p.Node != nil
	}
	if typed {
		tuple, err := expr.NewTuple(nodes...)
		if err != nil {
			return nil, located(diag.Errorf(diag.Run, "key", f.Text, "%w", err).
				WithHint("write numbers and texts, such as [\"pid\", \"comm\"]"), f.Pos)
		}
		return expr.Build(tuple), nil
	}
	return &expr.Program{Type: expr.TTuple, Elems: members, Value: func(fr *expr.Frame) event.Value {
		values := make([]event.Value, len(members))
		for i, p := range members {
			values[i] = p.Value(fr)
		}
		return event.ListOf(values...)
	}}, nil
}

// resultOf gives the program of an interpreted function the type of its result, if that is known;
// else it returns p.
func (b *builder) resultOf(call Callable, p *expr.Program, sc *expr.Scope) (*expr.Program, error) {
	r, ok := call.(resulter)
	if !ok || r.Result([]*expr.Scope{sc}).Kind == expr.Any {
		return p, nil
	}
	would := b.prints.NodeOf(p)
	typed, err := interpretedLet(call, sc)
	if err == nil {
		b.prints.Would(typed.Node, would)
	}
	return typed, err
}

// A giver is a Callable that can tell, before the run, that its result is of no
// use.
type giver interface {
	Gives(sc *expr.Scope, want expr.Kind) error
}

// A sourcer is a Callable that knows which field its result is copied from, so
// that the result is shown as that field is.
type sourcer interface {
	Source(events []*expr.Scope) expr.Node
}

// scriptFn compiles a function of the script, or leaves it to the interpreter
// if it cannot be compiled.
func (b *builder) scriptFn(call Callable, br *branch, want expr.Kind) (*expr.Program, error) {
	if g, ok := call.(giver); ok {
		if err := g.Gives(br.scope, want); err != nil {
			return nil, err
		}
	}
	if !b.env.Interpret {
		node, err := call.Lower(br.scope, want)
		if err == nil {
			return expr.Build(node), nil
		}
		if _, must := errors.AsType[*diag.Error](err); must {
			return nil, err
		}
		b.plan.Interpreted = append(b.plan.Interpreted, err.Error())
	}
	b.calls = append(b.calls, call)
	callReadsStack(b, br, call)
	t := expr.Type{Kind: want}
	if want == expr.Float {
		t.Kind = expr.Any // a function's numbers may be of several kinds
	}
	p := expr.Interpreted(call.Call, t)
	if b.env.Interpret {
		if node, err := call.Lower(br.scope, want); err == nil {
			b.prints.Would(p, node)
			return p, nil
		}
	}
	if s, ok := call.(sourcer); ok {
		if node := s.Source([]*expr.Scope{br.scope}); node != nil {
			b.prints.Would(p, node)
		}
	}
	return p, nil
}

// located adds the script's position to an error that lacks one.
func located(err error, pos string) error {
	if d, ok := err.(*diag.Error); ok && d.Pos == "" {
		c := *d
		c.Pos = pos
		return &c
	}
	return err
}

// scope has the names that expressions over one event can use.
func (b *builder) scope(s *Source, schema *event.Schema) *expr.Scope {
	label := schema.Name
	if s != nil && s.Alias != "" {
		label = s.Alias
	}
	sc := &expr.Scope{Schema: schema, Vars: map[string]expr.Node{}}
	if b.env.Services != nil {
		sc.Services = *b.env.Services
	}
	if _, own := schema.Field(eventName); own {
		sc.Vars["_"+eventName] = expr.NewStr(label)
	} else {
		sc.Vars[eventName] = expr.NewStr(label)
	}
	sc.Vars[InstanceName] = b.env.instance(schema)
	return sc
}

// eventName is the field with the event's name. If the event has a field "event" of its own, this
// one is "_event".
const eventName = "event"

// named gives "event" one meaning for all branches: if only some have a field of that name, it is
// the event's name.
func named(brs []branch) []branch {
	hidden := func(br branch) bool { return br.scope != nil && br.scope.Vars["_"+eventName] != nil }
	of := func(br branch) bool { return br.scope != nil && br.scope.Vars[eventName] != nil }
	if !slices.ContainsFunc(brs, of) {
		return brs
	}
	for i := range brs {
		if br := &brs[i]; hidden(*br) && !of(*br) {
			sc := *br.scope
			sc.Vars = maps.Clone(sc.Vars)
			sc.Vars[eventName] = sc.Vars["_"+eventName]
			br.scope = &sc
		}
	}
	return brs
}

// InstanceName is the field that tells the instance of an event: the thread if
// threads are observed, else the CPU.
const InstanceName = "_instance"

func (env *Env) instance(schema *event.Schema) expr.Node {
	name := "_cpu"
	if env.ByThread {
		name = "_tid"
	}
	f, _ := schema.Field(name)
	return expr.NewField(f, expr.Self)
}

// identityOf returns a number that differs between streams; 0 for nil.
func identityOf(s Stream) uintptr {
	if s == nil {
		return 0
	}
	return reflect.ValueOf(s).Pointer()
}
