package builtins

import (
	"fmt"
	"strings"

	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

// A Group is a chapter of the reference.
type Group string

// The groups, in the order of a script: options, sources, pipeline, results.
const (
	Options       Group = "options"
	Sources       Group = "sources"
	Combinators   Group = "combinators"
	StreamMethods Group = "stream methods"
	PairMethods   Group = "pair methods"
	Aggregators   Group = "aggregators"
	Results       Group = "results"
	Values        Group = "values"
	Hosted        Group = "functions"
	Workshop      Group = "prompt"
	Testing       Group = "tests"
)

// groups lists the groups in the reference's order.
var groups = []Group{
	Options, Sources, Combinators, StreamMethods, PairMethods, Aggregators, Results, Values,
	Hosted, Workshop, Testing,
}

// A Builtin declares one name that scripts can use: a function, a method, or
// a constant.
type Builtin struct {
	// Name is what scripts write: "join", "agg.count", or the method "hist".
	Name string
	// Type is the Starlark type that a method belongs to ("stream"); "" for
	// functions and constants.
	Type    string
	Group   Group
	Summary string // one line: the question that it answers
	Params  []Param
	Returns string // shape of the result, as in the signature: "histogram[by]"
	Result  string // its meaning and unit
	Errors  string // separated by semicolons
	Source  string // kernel interface, since when, which privilege
	Cost    string // per event, per key, per run

	Examples []Example

	// Impl does the work. Arguments have been checked.
	Impl func(c *Call) (starlark.Value, error)
	// Value is set instead of Impl for an attribute of Type, which is read and
	// not called. It returns nil if recv lacks the attribute. Without a Type the
	// declaration is a constant, and recv is nil.
	Value func(recv starlark.Value) starlark.Value
	// Native says how calls in per-event functions are compiled; nil if a
	// function with such a call stays interpreted.
	Native *frontend.Native
}

// constant returns the value of a constant; nil for other declarations.
func (b *Builtin) constant() starlark.Value {
	if b.Type != "" || b.Value == nil {
		return nil
	}
	return b.Value(nil)
}

// A Param declares one parameter. Params have the order of positional
// arguments.
type Param struct {
	Name string
	Type Type
	Unit string // unit of a number: "pages", "Hz"; "" for none
	// Default is the value of an absent argument, also shown in help. If it is
	// a Text, it is only shown, and the value is None. Nil means None.
	Default  starlark.Value
	Doc      string
	Required bool
	// Named parameters cannot be given by position.
	Named bool
	// Like is the parameter whose kind the argument must have: both plain numbers, or both durations.
	Like string
	// Rest is "*" or "**" for a parameter that takes all remaining arguments.
	Rest string
}

// Text is a default that is only described in help: an absent argument is None.
type Text string

func (t Text) String() string        { return string(t) }
func (t Text) Type() string          { return "description" }
func (t Text) Freeze()               {}
func (t Text) Truth() starlark.Bool  { return false }
func (t Text) Hash() (uint32, error) { return starlark.String(t).Hash() }

// An Example is code that is shown in the reference and run by a test.
type Example struct {
	Code string
	// Output is the exact output of the code, or the value of its last line.
	// Empty: the example only has to run.
	Output string
	// Input names a recording (in tests/data) that the events come from; ""
	// for examples that need none.
	Input string
	// Live says that the output depends on the machine: it is shown, the code
	// is checked but not run.
	Live bool
}

// Signature returns the first line of help: name, parameters, result.
func (b *Builtin) Signature() string {
	var s strings.Builder
	s.WriteString(b.FullName())
	if v := b.constant(); v != nil {
		fmt.Fprintf(&s, " = %s", v)
		return s.String()
	}
	if b.Value != nil {
		fmt.Fprintf(&s, " -> %s", b.Returns)
		return s.String()
	}
	s.WriteByte('(')
	star := false
	for i, p := range b.Params {
		if i > 0 {
			s.WriteString(", ")
		}
		if p.Rest == "*" {
			star = true
		}
		if p.Named && !star {
			s.WriteString("*, ")
			star = true
		}
		s.WriteString(p.Rest + p.Name)
		if !p.Required && p.Rest == "" {
			s.WriteString(" = " + p.defaultText())
		}
	}
	s.WriteByte(')')
	if b.Returns != "" {
		s.WriteString(" -> " + b.Returns)
	}
	return s.String()
}

// FullName returns the name, with its type for a method: "stream.hist".
func (b *Builtin) FullName() string {
	if b.Type != "" {
		return strings.ReplaceAll(b.Type, " ", "_") + "." + b.Name
	}
	return b.Name
}

// defaultText returns the default as the reference shows it.
func (p *Param) defaultText() string {
	if p.Default == nil {
		return "None"
	}
	return p.Default.String()
}
