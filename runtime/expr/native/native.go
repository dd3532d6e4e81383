// Package native lists the functions that run per event, for scripts and C expressions.
//
// Each is a Function: its help, its parameters, the node of a call, and its name in C expressions.
// Everything else is derived from this entry: the builtin with its help (builtins/host), calls in
// functions that are compiled and in functions that stay interpreted, calls in C expressions
// (runtime/expr/cexpr). If the node is made of other nodes, or of a native with an expr.KernelCode,
// it also runs in programs of the kernel. The entry of any other function has the reason why not
// (HostOnly), and explain shows it.
//
// To add a function, add its entry to the list of its subject: numbers, texts, names or
// memory.
package native

import (
	"errors"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// Functions has all functions, in the order of the reference.
var Functions = slices.Concat(names, numbers, texts, memory)

// A Kind is the kind of values of a parameter or of a result.
type Kind uint8

const (
	// Int is a signed number without a unit.
	Int Kind = iota
	// Amount is a number of 64 bits, signed or not, with any unit.
	Amount
	// Address is a number that uses all 64 bits.
	Address
	Text
	// Name is a constant text.
	Name
	// Flag is a constant True or False; only interpreted calls may have it.
	Flag
	// Place is a place in the kernel's memory.
	Place
	// Typed is a place in the kernel's memory whose type matters, or a number.
	Typed
)

// A Function is one function that runs per event.
type Function struct {
	// Name is the name in scripts; "" if scripts have another form for it.
	Name string
	// C are the forms of a call in C expressions, as hints show them: "ntohl(x)". It is empty if C
	// does not have the function.
	C []string

	// Summary, Result, Errors, Source and Cost are lines of the reference.
	Summary, Result, Errors, Source, Cost string
	Params                                []Param
	Examples                              []Example

	Returns Kind
	// CType is the C type of the result; nil means the type of the node.
	CType *c.Type

	// Needs is the service that the function uses; the zero value means none.
	Needs Needs
	// Node makes the node of a call.
	Node func(k *Call) (expr.Node, error)
	// HostOnly is the reason why programs of the kernel cannot compute it; "" if they
	// can.
	HostOnly string

	// Memory makes the result of a function that returns a Place, which has no Node.
	Memory func(k *MemoryCall) (*expr.KernelData, error)
}

// A Param is a parameter. All except flags are positional.
type Param struct {
	Name, Doc string
	Kind      Kind
	Unit      string  // of a number: "bytes"
	C         *c.Type // type to which C converts a number
	Optional  bool
}

// An Example is code with its output, as in builtins.Example.
type Example struct{ Code, Output string }

// Needs describes a service: Here reports that it exists, Missing names it in
// the error.
type Needs struct {
	Here    func(s *expr.Services) bool
	Missing string // "kernel symbols are"
}

// A Call is one call. Its arguments are nodes; constants in an interpreted function.
type Call struct {
	Function *Function
	Args     []expr.Node
	Services *expr.Services
	C        bool // in a C expression
}

// A MemoryCall is one call whose result is a place in the kernel's memory.
type MemoryCall struct {
	Kernel *expr.Kernel
	Schema *event.Schema // schema of the event; nil if unknown
	Addr   expr.Node     // the argument that is an address; nil if there is none
	// Data is that argument if it is a place in the kernel's memory or a field that points to one; else
	// nil.
	Data  *expr.KernelData
	Texts []string // the arguments that are names
	Path  string   // the text of the call; "" if unknown
}

// ErrMissing says that a service that the function needs is missing.
var ErrMissing = errors.New("known only while events are processed")

// Call makes the node of a call; ErrMissing if a service is missing.
func (f *Function) Call(k *Call) (expr.Node, error) {
	if f.Needs.Here != nil && (k.Services == nil || !f.Needs.Here(k.Services)) {
		return nil, ErrMissing
	}
	k.Function = f
	return f.Node(k)
}

// Bounds returns the smallest and the largest number of positional arguments.
func (f *Function) Bounds() (low, high int) {
	for _, p := range f.Params {
		switch {
		case p.Kind == Flag:
			continue
		case !p.Optional:
			low++
		}
		high++
	}
	return low, high
}

// CName returns the function's name in a form of Function.C: "ntohl" for
// "ntohl(x)".
func CName(usage string) string {
	name, _, _ := strings.Cut(usage, "(")
	return name
}

// flag reports whether argument i exists and is true.
func (k *Call) flag(i int) bool {
	if i >= len(k.Args) {
		return false
	}
	x, ok := k.Args[i].(*expr.Const)
	return ok && x.Int != 0
}

// native makes a Native with all arguments except flags.
func (k *Call) native(n expr.Native) (expr.Node, error) {
	for i, x := range k.Args {
		if i >= len(k.Function.Params) || k.Function.Params[i].Kind != Flag {
			n.Args = append(n.Args, x)
		}
	}
	n.HostOnly = k.Function.HostOnly
	return expr.NewNative(n)
}

// number makes a Native that computes a number from its only argument.
func (k *Call) number(name string, fn func(x int64) int64) (expr.Node, error) {
	return k.native(expr.Native{Name: name, T: expr.TInt,
		Int1: func(_ *expr.Frame, x int64) int64 { return fn(x) }})
}

// view makes a Native that finds a text by a number. The text must not change.
func (k *Call) view(name string, traits expr.Trait, find func(x int64) string) (expr.Node, error) {
	return k.native(expr.Native{Name: name, Traits: traits, T: expr.TStr,
		Str1: func(_ *expr.Frame, x int64) []byte { return expr.Bytes(find(x)) }})
}
