package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// Stacks counts events by their call stack.
type Stacks struct {
	In Stream
	// Stack is the stack to count by; nil is the event's own.
	Stack *Fn
	// Above is a second stack to count by, such as the stack of the thread that
	// ended a wait. It is shown above the first one, outermost function last. Nil is
	// none.
	Above *Fn
	// OnTop is a text that is shown as the topmost function, such as the name of the thread that
	// ended a wait. Nil or an empty text shows none.
	OnTop *Fn
	// Value is added up for each stack, and named Name; nil only counts.
	Value *Fn
	Name  string
	// By tells events of one stack apart; nil is by name of the thread.
	By []Var
	view.Stacks
	Limit int
	// File names the option for the file that the counts are written to; they
	// are then not shown. "" shows them.
	File string
	// Periods adds up what the samples of clocks and counters stand for, if there
	// is no other Value.
	Periods bool
}

// Input implements Report.
func (s *Stacks) Input() Stream { return s.In }

// ListsCode reports that the code of functions is shown.
func (p *Plan) ListsCode() bool {
	return slices.ContainsFunc(Of[*StacksOp](p), func(op *StacksOp) bool { return op.Spec.Code != nil })
}

// A StacksOp is the operator that Build makes of a Stacks.
type StacksOp struct {
	operator
	Name  string
	Spec  *Stacks
	Keys  []result.Column
	shows []view.Show // by key; nil shows the value
	Value result.Column
	// Periods says that Value is the samples' period.
	Periods bool
	spec    agg.Spec
}

// A StacksRun is a StacksOp that runs.
type StacksRun struct {
	running
	*StacksOp
	Group *agg.Group // by stack, pid, Keys, and then Above and OnTop if set
}

// stackBytes estimates the memory of a row's frames in a result.
const stackBytes = 256

// The first columns of StacksRun.Group.
const (
	StacksStack = iota
	StacksPID
	StacksKey
)

func (s *Stacks) build(b *builder) error {
	brs, err := b.existing("stacks", s.In)
	if err != nil {
		return err
	}
	op := &StacksOp{Spec: s, Name: b.names.next(s.Base(s.File != ""))}
	spec := agg.Spec{Limit: b.rows(cmp.Or(s.Limit, b.env.MaxRows), stackBytes), Args: []agg.Arg{{}},
		Aggs: []agg.Agg{{Op: agg.Count}}, Memory: b.env.Memory, Name: op.Name}
	stack, err := s.stackKey(b, brs)
	if err != nil {
		return err
	}
	pid, err := b.keyFn(Fn{Text: ownName("pid", brs)}, brs)
	if err != nil {
		return err
	}
	spec.Keys = append(spec.Keys, stack, pid)
	by := s.By
	if by == nil {
		by = []Var{{Name: "comm", Fn: Fn{Text: ownName("comm", brs)}}}
	}
	for _, v := range by {
		fn, err := b.keyFn(v.Fn, brs)
		if err != nil {
			return err
		}
		spec.Keys = append(spec.Keys, fn)
		op.Keys = append(op.Keys, b.prints.KeyColumn(v.Name, fn))
		op.shows = append(op.shows, b.prints.Of(fn))
	}
	if s.Above != nil {
		above, err := stackFn(b, *s.Above, brs)
		if err != nil {
			return err
		}
		spec.Keys = append(spec.Keys, above)
	}
	if s.OnTop != nil {
		top, err := b.keyFn(*s.OnTop, brs)
		if err != nil {
			return err
		}
		spec.Keys = append(spec.Keys, top)
	}
	value, name := s.Value, s.Name
	if value == nil && s.Periods {
		value, name = periods(b, brs)
	}
	if value != nil {
		fn, err := b.fn(*value, brs, expr.Int)
		if err != nil {
			return err
		}
		spec.Args = append(spec.Args, agg.Arg{Fn: fn})
		spec.Aggs = append(spec.Aggs, agg.Agg{Op: agg.Sum, Arg: 1})
		op.Value = result.Column{Name: name, Unit: stacksUnit(b, fn, brs)}
		f, ok := fn.Any().Field()
		op.Periods = ok && f.Member == event.MemberPeriod && f.Place == event.InMember
	}
	op.spec = spec
	b.plan.add(op)
	b.feed(feed{op: op, name: op.Name, prints: true}, brs)
	return nil
}

func (s *StacksOp) instantiate(in *Instance) Running {
	run := &StacksRun{StacksOp: s, Group: agg.New(s.spec)}
	in.fails(s.Name, run.Group.Errors(), true)
	return run
}

// Counted is the column of StacksRun.Group with the count: the first after the keys.
func (s *StacksOp) Counted() int { return len(s.spec.Keys) }

func (s *StacksRun) sink(int) flow.Sink { return s.Group }
func (s *StacksRun) group() *agg.Group  { return s.Group }

func (s *StacksOp) needs(_ *builder, n *need) {
	if s.Spec.By == nil {
		n.Add(event.MemberComm)
		n.Order("stacks are counted by the name at their time")
	}
}

func (s *StacksOp) deliver(h Host) Delivery { return h.Stacks(s) }

func (s *StacksOp) ofOneMachine() (what, why string) {
	switch {
	case s.Spec.File != "" && s.Spec.File != "profiles":
		return s.Spec.File, "it goes to a file"
	case s.Spec.Code != nil:
		return "annotated code", "it is read from the files of one machine"
	case s.Spec.Flat != nil:
		return "a flat profile", "functions are named on one machine"
	}
	return "", ""
}

func (s *StacksOp) inKernel() (graph.Work, string) { return graph.Work{Group: &s.spec}, "" }

func (*StacksOp) notSent() string { return notOnlyTracepoints }

func (s *StacksOp) explain(w *strings.Builder) {
	keys := []string{"stack", "pid"}
	for _, k := range s.Keys {
		keys = append(keys, k.Name)
	}
	fmt.Fprintf(w, "result %-8s by %s: count", s.Name, strings.Join(keys, ", "))
	if s.Value.Name != "" {
		fmt.Fprintf(w, ", sum of %s", s.Value.Name)
	}
	w.WriteByte('\n')
}

// periods returns the period of samples and its name; nil for events that are
// not sampled, and for derived events.
func periods(b *builder, brs []branch) (value *Fn, name string) {
	for i := range brs {
		s := b.plan.streams[brs[i].stream].Schema
		clock := s.IsClock()
		counted := slices.Contains([]string{"hardware", "cache", "pmu", "raw"}, s.System)
		if brs[i].root != nil || !clock && !counted {
			return nil, ""
		}
		if name = s.Name; clock {
			name = "cpu"
		}
	}
	return &Fn{Text: "_period"}, name
}

// stackKey compiles the stack that events are counted by.
func (s *Stacks) stackKey(b *builder, brs []branch) (*flow.Fn, error) {
	f := Fn{Text: Stack}
	if s.Stack != nil {
		f = *s.Stack
	} else if part := stackPart(brs); part != "" {
		f.Text = part + "." + Stack
	}
	return stackFn(b, f, brs)
}

// stackFn compiles an expression that is a stack.
func stackFn(b *builder, f Fn, brs []branch) (*flow.Fn, error) {
	fn, err := b.keyFn(f, brs)
	if err != nil {
		return nil, err
	}
	for i := range brs {
		if p := fn.At(brs[i].stream); brs[i].root != nil && p.IsStack() && ownMember(p) {
			e := diag.Errorf(diag.Run, "stacks", brs[i].scope.Schema.FullName(), "the events carry no stack").
				WithHint("take the stacks of the events that they are made from: .stack() before it, " +
					"in many profilers -g")
			return nil, located(e, f.Pos)
		}
	}
	if wrong := fn.Find(func(p *expr.Program) bool { return !p.IsStack() }); wrong != nil {
		return nil, located(diag.Errorf(diag.Run, "stacks", f.label(), "is a %s, not a stack", wrong.Type).
			WithHint("give the stack of an event: stack, or start.stack of a pair"), f.Pos)
	}
	return fn, nil
}

// ownName is the field comm or pid of the running thread. In derived events these names
// mean the thread that the event is about.
func ownName(member string, brs []branch) string {
	for i := range brs {
		if f, ok := brs[i].scope.Schema.Field(member); !ok || f.Place != event.InSlot {
			return "_" + member
		}
	}
	return member
}

// ownMember reports that p reads a sample member of the event itself, not of a
// part.
func ownMember(p *expr.Program) bool {
	f, ok := p.Node.(*expr.Field)
	return ok && f.F.Place == event.InMember && f.Part == expr.Self
}

// stackPart names the part of derived events that gives the stack, their start;
// "" if an event on the branches has no parts.
func stackPart(brs []branch) string {
	for _, br := range brs {
		if br.scope.Parts["start"] == nil {
			return ""
		}
	}
	return "start"
}

// stacksUnit is the unit of the values. A clock's period is a time.
func stacksUnit(b *builder, fn *flow.Fn, brs []branch) unit.Unit {
	f, ok := fn.Any().Field()
	if !ok || f.Member != event.MemberPeriod || f.Place != event.InMember {
		return view.UnitOf(fn.Any())
	}
	if slices.ContainsFunc(brs, func(br branch) bool { return !b.plan.streams[br.stream].Schema.IsClock() }) {
		return unit.Unit{}
	}
	return unit.US
}
