// Package native lists the functions that run per event and that scripts and C expressions both can have.
//
// Each is a Function: the words of its help, its parameters, the node of a call, and how C expressions name
// it. All else follows from its entry: the builtin with its help (builtins/host), calls in functions that are
// compiled and in functions that stay interpreted, calls in C expressions (runtime/expr/cexpr). A node that
// is made of other nodes, or whose native has an expr.KernelCode, runs in programs of the kernel as well; the
// entry of any other function says why it does not (HostOnly), and explain shows that.
//
// To add one, add its entry to the list of its subject: numbers, texts, names or memory.
package native

import (
	"errors"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// Functions lists all functions, in the order of the reference.
var Functions = slices.Concat(names, numbers, texts, memory)

// A Kind is what a parameter takes, or what a function returns.
type Kind uint8

const (
	// Int is a signed number that measures nothing.
	Int Kind = iota
	// Amount is a number of 64 bits, signed or not, whatever it measures.
	Amount
	// Address is a number of all 64 bits.
	Address
	Text
	// Name is a text that is known before events come.
	Name
	// Flag is True or False; only interpreted calls have it.
	Flag
	// Place is a place in the kernel's memory.
	Place
)

// A Function is one function that runs per event.
type Function struct {
	// Name is how scripts call it; "" says that they have another way.
	Name string
	// C are its calls in C expressions, as the advice shows them: "ntohl(x)". None says that C lacks it.
	C []string

	// Summary, Result, Errors, Source and Cost are its lines in the reference.
	Summary, Result, Errors, Source, Cost string
	Params                                []Param
	Examples                              []Example

	Returns Kind
	// CType is the C type of its result; nil is the type of the node.
	CType *c.Type

	// Needs is what it asks of the outside: whether that is there, and its name, for the error. The zero
	// Needs is nothing.
	Needs Needs
	// Node makes the node of a call.
	Node func(k *Call) (expr.Node, error)
	// HostOnly says why programs of the kernel do not compute it; "" says that they do.
	HostOnly string

	// Memory makes the result of a function that returns a Place; then there is no Node.
	Memory func(k *MemoryCall) (*expr.KernelData, error)
}

// A Param is a parameter. All that are no flags are given by position.
type Param struct {
	Name, Doc string
	Kind      Kind
	Unit      string  // of a number: "bytes"
	C         *c.Type // to which C converts a number
	Optional  bool
}

// An Example is code with its output, as in builtins.Example.
type Example struct{ Code, Output string }

// Needs is a part of the services.
type Needs struct {
	Here    func(s *expr.Services) bool
	Missing string // "kernel symbols are"
}

// A Call is one call, with nodes as arguments: constants, if a function is interpreted.
type Call struct {
	Function *Function
	Args     []expr.Node
	Services *expr.Services
	C        bool // in a C expression
}

// A MemoryCall is one call that leads into the kernel's memory.
type MemoryCall struct {
	Kernel *expr.Kernel
	Schema *event.Schema // of the event; nil is not known
	Addr   expr.Node     // the argument that is an address; nil if there is none
	Texts  []string      // the arguments that are names
	Path   string        // the call as it is written; "" is not known
}

// ErrMissing says that the services lack what a function needs.
var ErrMissing = errors.New("known only while events are processed")

// Call makes the node of a call. ErrMissing says that it can be none.
func (f *Function) Call(k *Call) (expr.Node, error) {
	if f.Needs.Here != nil && (k.Services == nil || !f.Needs.Here(k.Services)) {
		return nil, ErrMissing
	}
	k.Function = f
	return f.Node(k)
}

// Bounds are the fewest and the most arguments that are given by position.
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

// CName is the name in a call in C: "ntohl" of "ntohl(x)".
func CName(usage string) string {
	name, _, _ := strings.Cut(usage, "(")
	return name
}

// flag reports whether argument i is there and true.
func (k *Call) flag(i int) bool {
	if i >= len(k.Args) {
		return false
	}
	x, ok := k.Args[i].(*expr.Const)
	return ok && x.Int != 0
}

// native is a native of all arguments but flags.
func (k *Call) native(n expr.Native) (expr.Node, error) {
	for i, x := range k.Args {
		if i >= len(k.Function.Params) || k.Function.Params[i].Kind != Flag {
			n.Args = append(n.Args, x)
		}
	}
	n.HostOnly = k.Function.HostOnly
	return expr.NewNative(n)
}

// number is a native that computes a number of its one argument.
func (k *Call) number(name string, fn func(x int64) int64) (expr.Node, error) {
	return k.native(expr.Native{Name: name, T: expr.TInt,
		Int1: func(_ *expr.Frame, x int64) int64 { return fn(x) }})
}

// view is a native that finds a text by a number. The text must not change.
func (k *Call) view(name string, traits expr.Trait, find func(x int64) string) (expr.Node, error) {
	return k.native(expr.Native{Name: name, Traits: traits, T: expr.TStr,
		Str1: func(_ *expr.Frame, x int64) []byte { return expr.Bytes(find(x)) }})
}
