package builtins

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ppscript/runtime/script/value"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

// A Type says which Starlark values a parameter accepts. (Types of event fields are
// event.Type.) accept returns the value to use, converted if necessary, or ok =
// false.
type Type struct {
	Name   string // as the reference shows it
	accept func(v starlark.Value) (starlark.Value, bool)
	// takes reports that accept accepts at least some values of a Starlark type.
	takes func(typ string) bool
	// hint returns a text about what to write instead of v. It may be nil.
	hint func(v starlark.Value) string
}

func (t Type) String() string { return t.Name }

// ofTypes makes a takes function for some Starlark types.
func ofTypes(names ...string) func(string) bool {
	return func(typ string) bool { return slices.Contains(names, typ) }
}

// Is makes a Type that accepts all values whose Starlark type() is one of
// names: Is("stream").
func Is(names ...string) Type {
	t := Type{Name: strings.Join(names, " or "), takes: ofTypes(names...)}
	t.accept = func(v starlark.Value) (starlark.Value, bool) {
		for _, n := range names {
			if v.Type() == n {
				return v, true
			}
		}
		return nil, false
	}
	return t
}

// As gives a type another name in the reference: As(String, "event").
func As(t Type, name string) Type {
	t.Name = name
	return t
}

// Or makes a Type that accepts values of any of the types. The first type that
// accepts a value converts it.
func Or(types ...Type) Type {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return Type{
		Name: strings.Join(names, " or "),
		takes: func(typ string) bool {
			return slices.ContainsFunc(types, func(t Type) bool { return t.takes(typ) })
		},
		accept: func(v starlark.Value) (starlark.Value, bool) {
			for _, t := range types {
				if w, ok := t.accept(v); ok {
					return w, true
				}
			}
			return nil, false
		},
		// Two hints are enough: a whole number, or a unit.
		hint: func(v starlark.Value) string {
			var hints []string
			for _, t := range types {
				if t.hint == nil || len(hints) == 2 {
					continue
				}
				if h := t.hint(v); h != "" {
					hints = append(hints, h)
				}
			}
			return strings.Join(hints, ", or ")
		},
	}
}

// ListOf makes a Type that accepts lists and tuples of t, and converts them to
// tuples.
func ListOf(t Type) Type {
	return Type{
		Name:  "list of " + t.Name,
		takes: ofTypes("list", "tuple"),
		accept: func(v starlark.Value) (starlark.Value, bool) {
			switch v.(type) {
			case *starlark.List, starlark.Tuple:
			default:
				return nil, false
			}
			seq := v.(starlark.Indexable)
			out := make(starlark.Tuple, seq.Len())
			for i := range out {
				w, ok := t.accept(seq.Index(i))
				if !ok {
					return nil, false
				}
				out[i] = w
			}
			return out, true
		},
		hint: func(v starlark.Value) string {
			if _, ok := t.accept(v); ok {
				return fmt.Sprintf("write it as a list: [%s]", v)
			}
			return ""
		},
	}
}

// OneOf makes a Type that accepts one of some strings.
func OneOf(words ...string) Type {
	return Type{
		Name:  `"` + strings.Join(words, `" or "`) + `"`,
		takes: ofTypes("string"),
		accept: func(v starlark.Value) (starlark.Value, bool) {
			s, ok := starlark.AsString(v)
			for _, w := range words {
				if ok && s == w {
					return v, true
				}
			}
			return nil, false
		},
	}
}

// callable reports that a Starlark type is a type of functions.
var callable = ofTypes("function", "builtin", "builtin_function_or_method")

// hasElements reports that values of a Starlark type may have elements.
func hasElements(typ string) bool {
	switch typ {
	case "int", "float", "bool", "string", "NoneType", "duration", "time", "size", "event":
		return false
	}
	return !callable(typ)
}

// unitHint returns a hint for a value without a unit; "" for a number that is too large for any
// unit.
func unitHint(v starlark.Value, unit, example string) string {
	switch f, ok := starlark.AsFloat(v); {
	case !ok:
		return example
	case math.Abs(f) < 1<<63:
		return fmt.Sprintf("give the unit: %s * %s", v, unit)
	}
	return ""
}

// The types that most parameters have.
var (
	Any = Type{
		Name:   "any",
		takes:  func(string) bool { return true },
		accept: func(v starlark.Value) (starlark.Value, bool) { return v, true },
	}
	String = Is("string")
	Bool   = Is("bool")
	Int    = Type{
		Name:  "int",
		takes: ofTypes("int"),
		accept: func(v starlark.Value) (starlark.Value, bool) {
			i, ok := v.(starlark.Int)
			if !ok {
				return nil, false
			}
			_, ok = i.Int64()
			return v, ok
		},
		hint: func(v starlark.Value) string {
			switch v.(type) {
			case starlark.Float:
				return "write a whole number"
			case starlark.Int:
				return "write a number from -2^63 to 2^63 - 1"
			}
			return ""
		},
	}
	// Float accepts ints and floats, and converts to a float.
	Float = Type{
		Name:  "float",
		takes: ofTypes("int", "float"),
		accept: func(v starlark.Value) (starlark.Value, bool) {
			f, ok := starlark.AsFloat(v)
			return starlark.Float(f), ok
		},
	}
	Number = Is("int", "float")
	Dict   = Is("dict")
	// Elements accepts values with elements, such as a list, tuple, set or
	// range, but not a string.
	Elements = Type{Name: "list", takes: hasElements, accept: func(v starlark.Value) (starlark.Value, bool) {
		_, ok := v.(starlark.Iterable)
		return v, ok
	}}

	// Duration accepts a duration or its text ("10ms"), never a bare number.
	Duration = Type{
		Name:  "duration",
		takes: ofTypes("duration", "string"),
		accept: func(v starlark.Value) (starlark.Value, bool) {
			switch v := v.(type) {
			case value.Duration:
				return v, true
			case starlark.String:
				// A text without a unit is as ambiguous as a number.
				if strings.Trim(string(v), "0123456789. ") == "" {
					return nil, false
				}
				ns, err := unit.ParseDuration(string(v), 1)
				return value.Duration(ns), err == nil
			}
			return nil, false
		},
		hint: func(v starlark.Value) string {
			return unitHint(v, "ms", "write for example 10 * ms")
		},
	}
	// Size accepts a size, its text ("64k"), never a bare number.
	Size = Type{
		Name:  "size",
		takes: ofTypes("size", "string"),
		accept: func(v starlark.Value) (starlark.Value, bool) {
			switch v := v.(type) {
			case value.Size:
				return v, true
			case starlark.String:
				if strings.Trim(string(v), "0123456789. ") == "" {
					return nil, false
				}
				n, err := unit.ParseSize(string(v))
				return value.Size(n), err == nil
			}
			return nil, false
		},
		hint: func(v starlark.Value) string {
			return unitHint(v, "KiB", "write for example 64 * KiB")
		},
	}
	// Func accepts anything that can be called.
	Func = Type{
		Name:  "function",
		takes: callable,
		accept: func(v starlark.Value) (starlark.Value, bool) {
			_, ok := v.(starlark.Callable)
			return v, ok
		},
	}
	// Expression is evaluated once per event: the name of a field, a C
	// expression, or a function of the event.
	Expression = Type{
		Name:  "expression",
		takes: func(typ string) bool { return typ == "string" || callable(typ) },
		accept: func(v starlark.Value) (starlark.Value, bool) {
			if s, ok := v.(starlark.String); ok {
				return v, strings.TrimSpace(string(s)) != ""
			}
			_, ok := v.(starlark.Callable)
			return v, ok
		},
		hint: func(starlark.Value) string {
			return `write a field name, a C expression such as "pid > 100", or lambda e: e.pid > 100`
		},
	}
	// UnitType accepts us, MiB, ..., or a unit's symbol as text.
	UnitType = Type{
		Name:  "unit",
		takes: ofTypes("string", "duration", "size"),
		accept: func(v starlark.Value) (starlark.Value, bool) {
			_, err := value.UnitOf(v)
			return v, err == nil
		},
		hint: func(starlark.Value) string { return "write one of ns, us, ms, s, KiB, MiB, GiB" },
	}
)
