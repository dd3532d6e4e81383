package frontend

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// A Machine is the state machine of a script's fold: the members of its state,
// the step function, and the flush function if there is one. It belongs to one
// goroutine.
type Machine struct {
	host  *script.Host
	vars  []*stateVar
	step  *stepFunc
	flush *stepFunc // nil if there is none
	emits []event.Field
	from  [][]expr.Node // by field of emits: the nodes of its values, see role.origin
	// silent says that it need not emit, since other folds read its state.
	silent bool
}

// A stateVar is one member of the state.
type stateVar struct {
	name  string
	init  starlark.Value
	list  []starlark.Value // initial elements, if it is a list
	kind  Kind             // kind of the value, or of a list's elements
	weak  bool             // initially 0, which may stand for an unset time
	slot  int              // index in Frame.Texts for texts, else in Frame.State
	texts bool
	from  []expr.Node // the nodes of its values, see role.origin

	// The last number that was read, and its Starlark value.
	last  int64
	value starlark.Value
}

// words returns the initial numbers of the member; none for a text.
func (v *stateVar) words() []starlark.Value {
	switch {
	case v.texts:
		return nil
	case v.list != nil:
		return v.list
	}
	return []starlark.Value{v.init}
}

// A stepFunc is a function of a state and an event, with the values that its
// calls reuse.
type stepFunc struct {
	*Func
	state  stateView
	args   starlark.Tuple
	before restorable // the call
	undo   func()     // undoes the effects of an abandoned call
}

// NewMachine checks the functions' parameters and the members of the state,
// and prepares them. flush may be nil.
func NewMachine(h *script.Host, state *starlark.Dict, step, flush starlark.Callable) (*Machine, error) {
	m := &Machine{host: h}
	if state.Len() == 0 {
		return nil, diag.Errorf(diag.Run, "fold", "state", "is empty").
			WithHint("write for example state = {\"since\": 0}")
	}
	for _, kv := range state.Items() {
		v, err := newStateVar(kv[0], kv[1])
		if err != nil {
			return nil, err
		}
		m.vars = append(m.vars, v)
	}
	var err error
	if m.step, err = newStep(h, m, step, "step"); err != nil {
		return nil, err
	}
	if flush != nil {
		m.flush, err = newStep(h, m, flush, "flush")
	}
	return m, err
}

func newStateVar(name, init starlark.Value) (*stateVar, error) {
	s, ok := starlark.AsString(name)
	if !ok || s == "" {
		return nil, diag.Errorf(diag.Run, "fold", "state", "got name %s, want a text", name).
			WithHint("write for example state = {\"since\": 0}")
	}
	if list, ok := init.(*starlark.List); ok {
		return newStateList(s, list)
	}
	v := &stateVar{name: s, init: init, kind: kindOf(init)}
	if i, ok := init.(starlark.Int); ok {
		v.weak = i.Sign() == 0
	}
	v.texts = v.kind == kindText
	switch {
	case v.kind == kindNone:
		return nil, diag.Errorf(diag.Run, "fold", "state "+s, "got None, want a value").
			WithHint("what is unset is 0, \"\" or False; ask with: if s.%s", s)
	case !v.kind.number() && !v.texts:
		return nil, diag.Errorf(diag.Run, "fold", "state "+s,
			"got a %s, want an int, bool, duration, time, size, string or a list of numbers", init.Type()).
			WithHint("a state holds numbers, texts and lists of numbers; keep others in state()")
	case v.texts && len(string(init.(starlark.String))) > expr.MaxStateText:
		return nil, diag.Errorf(diag.Run, "fold", "state "+s, "is longer than %d bytes", expr.MaxStateText).
			WithHint("shorten it")
	}
	return v, nil
}

func newStep(h *script.Host, m *Machine, fn starlark.Callable, what string) (*stepFunc, error) {
	f, ok := fn.(*starlark.Function)
	if !ok || f.NumParams() != 2 || f.HasVarargs() || f.HasKwargs() || f.NumKwonlyParams() > 0 {
		d := diag.Errorf(diag.Run, "fold", what, "%s does not take a state and an event", fn.Name()).
			WithHint("define it: def %s(s, e):", what)
		if ok {
			return nil, h.At(f.Position(), d)
		}
		return nil, d
	}
	if err := h.Freeze(fn); err != nil {
		return nil, err
	}
	sf := &stepFunc{Func: prepare(h, fn), args: make(starlark.Tuple, 2)}
	sf.state.m = m
	sf.undo = func() {
		sf.before.restore(sf.state.f)
		sf.state.again = sf.state.emitted
	}
	sf.t.SetLocal(foldKey, &sf.state)
	return sf, nil
}

func (m *Machine) find(name string) *stateVar {
	for _, v := range m.vars {
		if v.name == name {
			return v
		}
	}
	return nil
}

func (m *Machine) names() []string {
	names := make([]string, len(m.vars))
	for i, v := range m.vars {
		names[i] = v.name
	}
	return names
}

// Name and Pos are the name and the position of the step function.
func (m *Machine) Name() string { return m.step.Name() }
func (m *Machine) Pos() string  { return m.step.Pos() }

// FlushPos is the position of the flush function; "" if there is none.
func (m *Machine) FlushPos() string {
	if m.flush == nil {
		return ""
	}
	return m.flush.Pos()
}

// Bind infers the kinds of the state and of the emitted fields, for the events
// that step and flush will get, and returns errors that are certain.
func (m *Machine) Bind(events []*expr.Scope, flush *expr.Scope) error {
	m.step.bind(events)
	if m.flush != nil {
		m.flush.bind([]*expr.Scope{flush})
	}
	var in *inference
	for range 8 {
		in = &inference{m: m, learns: true, schema: firstSchema(events)}
		in.function(m.step.fn.(*starlark.Function), stepRoles(subjectOf(events)), true)
		m.step.learn(in) // before the walk of the flush function, which gets other events
		if m.flush != nil {
			in.function(m.flush.fn.(*starlark.Function), stepRoles(subjectOf([]*expr.Scope{flush})), true)
		}
		if !in.changed {
			break
		}
	}
	if err := joined(in.unknowns); err != nil {
		return err
	}
	m.emits, m.from = in.fields()
	if err := joined(in.errs); err != nil {
		return err
	}
	if m.emits == nil && !m.silent {
		fn := m.step.fn.(*starlark.Function)
		return m.host.At(fn.Position(), diag.Errorf(diag.Run, "fold", fn.Name(), "emits nothing").
			WithHint("call emit(name = value) where there is something to tell"))
	}
	return m.place()
}

// stepRoles are the roles of the arguments of a fold's functions.
func stepRoles(ev *subject) []role {
	return []role{{state: true, kind: kindOther}, {ev: ev, kind: kindOther}}
}

// place assigns slots to the members.
func (m *Machine) place() error {
	texts, numbers := 0, 0
	for _, v := range m.vars {
		if v.texts {
			v.slot = texts
			texts++
			continue
		}
		v.slot = numbers
		numbers += len(v.words())
		for _, x := range v.words() {
			if i, ok := x.(starlark.Int); ok && v.kind == kindUint && i.Sign() < 0 {
				return diag.Errorf(diag.Run, "fold", "state "+v.name,
					"is %s and is assigned unsigned 64-bit numbers", i).
					WithHint("use 0 for what is unset")
			}
		}
	}
	return nil
}

// Initial returns the initial state: numbers and texts.
func (m *Machine) Initial() (numbers []int64, texts []string) {
	for _, v := range m.vars {
		if v.texts {
			texts = append(texts, string(v.init.(starlark.String)))
		}
		for _, x := range v.words() {
			n, _ := toWord(x)
			numbers = append(numbers, n)
		}
	}
	return numbers, texts
}

// Slot is the index of a member in the numbers of Initial.
func (m *Machine) Slot(member string) (int, bool) {
	v := m.find(member)
	if v == nil || v.texts || v.list != nil {
		return 0, false
	}
	return v.slot, true
}

// Emits returns the fields that the functions emit.
func (m *Machine) Emits() []event.Field { return m.emits }

// Reads lists the attributes of its event that the step function reads; see
// Func.Reads.
func (m *Machine) Reads() (names []string, exact bool) {
	return m.step.reads(m, stepRoles(&subject{})...)
}

// Run calls the interpreted step function with the frame's event and state,
// RunFlush the flush function. An error is in f.Err.
func (m *Machine) Run(f *expr.Frame)      { m.step.run(f) }
func (m *Machine) RunFlush(f *expr.Frame) { m.flush.run(f) }

func (sf *stepFunc) run(f *expr.Frame) {
	v := sf.views[sf.turn%viewTurns]
	sf.turn++
	v.Show(f.Event)
	sf.state.f = f
	sf.args[0], sf.args[1] = &sf.state, v
	sf.state.emitted, sf.state.again = 0, 0
	sf.before.keep(f)
	if _, err := sf.invoke(sf.args, v, sf.undo); err != nil {
		f.Fail(err)
	}
	sf.state.f = nil
}

// A stateView is the state of one key as a Starlark value. It is valid during
// the call that received it.
type stateView struct {
	m       *Machine
	f       *expr.Frame
	emitted int // number of emits in this call
	again   int // number of the next emits to skip, since the abandoned call made them
}

var _ starlark.HasSetField = (*stateView)(nil)

func (s *stateView) String() string        { return "<fold state>" }
func (s *stateView) Type() string          { return "fold state" }
func (s *stateView) Freeze()               {}
func (s *stateView) Truth() starlark.Bool  { return true }
func (s *stateView) AttrNames() []string   { return s.m.names() }
func (s *stateView) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: fold state") }

var errStaleState = (&diag.Error{Op: "fold state", Cause: fmt.Errorf("used after the call that received it"),
	Hint: "copy the members that you need"})

// Attr reads a member.
func (s *stateView) Attr(name string) (starlark.Value, error) {
	v := s.m.find(name)
	if v == nil {
		return nil, nil
	}
	if s.f == nil {
		return nil, errStaleState
	}
	return s.get(v), nil
}

// get reads a member during a call.
func (s *stateView) get(v *stateVar) starlark.Value {
	switch {
	case v.texts:
		return s.m.step.views[0].Cache().Text(s.f.Texts[v.slot])
	case v.list != nil:
		return &StateList{s, v}
	}
	if n := s.f.State[v.slot]; v.value == nil || v.last != n {
		v.last, v.value = n, fromWord(v.kind, n)
	}
	return v.value
}

// SetField assigns a member. A value of another kind is an error, except 0,
// which unsets any number.
func (s *stateView) SetField(name string, val starlark.Value) error {
	v := s.m.find(name)
	switch {
	case v == nil:
		return starlark.NoSuchAttrError(
			fmt.Sprintf("fold state: no member %s%s", name, diag.DidYouMean(name, s.m.names())))
	case s.f == nil:
		return errStaleState
	}
	return s.set(v, val)
}

// set assigns a member during a call.
func (s *stateView) set(v *stateVar, val starlark.Value) error {
	switch {
	case v.texts:
		t, ok := val.(starlark.String)
		if !ok {
			return v.wrong(val)
		}
		if len(t) > expr.MaxStateText {
			return expr.ErrLong
		}
		s.f.Texts[v.slot] = append(s.f.Texts[v.slot][:0], t...)
		return nil
	case v.list != nil:
		return (&StateList{s, v}).assign(val)
	}
	n, err := v.word(val)
	if err == nil {
		s.f.State[v.slot] = n
	}
	return err
}

// word converts a value to the number that the member stores.
func (v *stateVar) word(val starlark.Value) (int64, error) {
	k := kindOf(val)
	n, ok := toWord(val)
	switch {
	case !ok && k == kindOther: // an integer beyond 64 bits, or not a number
		if _, isInt := val.(starlark.Int); isInt {
			return 0, expr.ErrOverflow
		}
		return 0, v.wrong(val)
	case k == v.kind, k == kindInt && n == 0 && v.kind != kindBool,
		v.kind == kindUint && k == kindInt && n >= 0:
		return n, nil
	case v.kind == kindUint && k == kindInt, v.kind == kindInt && k == kindUint:
		return 0, expr.ErrOverflow
	}
	return 0, v.wrong(val)
}

func (v *stateVar) wrong(val starlark.Value) error {
	return fmt.Errorf("state %s: is a %s and is assigned a %s", v.name, v.kind, val.Type())
}

// toWord converts a number to 64 bits.
func toWord(v starlark.Value) (int64, bool) {
	switch v := v.(type) {
	case starlark.Bool:
		if v {
			return 1, true
		}
		return 0, true
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return n, true
		}
		n, ok := v.Uint64()
		return int64(n), ok
	case value.Duration:
		return int64(v), true
	case value.Time:
		return int64(v), true
	case value.Size:
		return int64(v), true
	}
	return 0, false
}

// isEmit reports that v is the builtin emit.
func isEmit(h *script.Host, v starlark.Value) bool {
	return v != nil && v == h.Predeclared()["emit"]
}

const foldKey = "ppscript.fold"

// Emit is the builtin emit, which an interpreted step function calls with named
// values. It fails anywhere else.
func Emit(t *starlark.Thread, kw []starlark.Tuple) error {
	s, _ := t.Local(foldKey).(*stateView)
	if s == nil || s.f == nil {
		return diag.Errorf(diag.Run, "emit", "", "called outside a step function").
			WithHint("call it in the step function of stream.fold(...)")
	}
	m := s.m
	args := make([]expr.Arg, len(m.emits))
	if len(kw) != len(args) {
		return diag.Errorf(diag.Run, "emit", "", "got %d values, want %d", len(kw), len(args)).
			WithHint("every emit of a fold gives the same names")
	}
	for _, nv := range kw {
		name := string(nv[0].(starlark.String))
		i := slices.IndexFunc(m.emits, func(f event.Field) bool { return f.Name == name })
		if i < 0 {
			return diag.Errorf(diag.Run, "emit", name, "not given elsewhere").
				WithHint("every emit of a fold gives the same names")
		}
		a, err := emitArg(&m.emits[i], nv[1])
		if err != nil {
			return err
		}
		args[i] = a
	}
	s.emit(args)
	return nil
}

// emit passes values on, except the ones that the abandoned call has already
// passed on.
func (s *stateView) emit(args []expr.Arg) {
	if s.emitted++; s.again > 0 {
		s.again--
		return
	}
	if s.f.Emit != nil {
		s.f.Emit(s.f, 0, args)
	}
}

// emitArg converts a value to the type of its field.
func emitArg(f *event.Field, v starlark.Value) (expr.Arg, error) {
	want := kindOfField(f)
	if f.Unit == event.SizeB {
		want = kindSize
	}
	k := kindOf(v)
	switch {
	case want == kindText && k == kindText:
		s := string(v.(starlark.String))
		return expr.Arg{Kind: expr.Str, S: unsafe.Slice(unsafe.StringData(s), len(s))}, nil
	case want == kindFloat && (k == kindFloat || k == kindInt || k == kindUint):
		x, _ := starlark.AsFloat(v)
		return expr.Arg{Kind: expr.Float, I: int64(math.Float64bits(x))}, nil
	}
	n, ok := toWord(v)
	i, isInt := v.(starlark.Int)
	switch {
	case isInt && (!ok || want == kindInt && k == kindUint || want == kindUint && i.Sign() < 0):
		if want == kindInt || want == kindUint {
			return expr.Arg{}, expr.ErrOverflow
		}
	case isInt && i.Sign() == 0 && want.number() && want != kindBool,
		ok && (k == want || want == kindUint && k == kindInt):
		return expr.Arg{Kind: expr.Int, I: n}, nil
	}
	return expr.Arg{}, fmt.Errorf("emit %s: got a %s, want a %s", f.Name, v.Type(), want)
}
