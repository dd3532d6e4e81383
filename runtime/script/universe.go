package script

import (
	"strings"

	"go.starlark.net/starlark"
)

// This file wraps Starlark's own functions and methods in checks that their
// results stay within bounds (bounds.go).

// A check returns an error if a call must not be made. recv is nil for
// functions.
type check func(recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error

// checkedBuiltin makes a builtin that is called only if check returns no error.
func checkedBuiltin(b *starlark.Builtin, c check) *starlark.Builtin {
	return starlark.NewBuiltin(b.Name(),
		func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := c(b.Receiver(), args, kwargs); err != nil {
				return nil, err
			}
			return b.CallInternal(t, args, kwargs)
		})
}

// universal has the checked forms of Starlark's functions.
func universal() starlark.StringDict {
	out := starlark.StringDict{}
	add := func(c check, names ...string) {
		for _, n := range names {
			out[n] = checkedBuiltin(starlark.Universe[n].(*starlark.Builtin), c)
		}
	}
	add(ofElements, "all", "any", "dict", "enumerate", "list", "max", "min", "reversed", "set", "sorted", "tuple", "zip", "bytes")
	add(ofTexts, "fail", "print", "repr", "str")
	add(ofDigits, "int")
	get := starlark.Universe["getattr"].(*starlark.Builtin)
	out["getattr"] = starlark.NewBuiltin("getattr",
		func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple,
			kwargs []starlark.Tuple) (starlark.Value, error) {
			v, err := get.CallInternal(t, args, kwargs)
			if err != nil {
				return nil, err
			}
			return AskedMethod(v), nil
		})
	return out
}

func ofElements(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	for _, a := range args {
		if err := boundedLen(a); err != nil {
			return err
		}
		if _, known := a.(starlark.Sequence); known {
			continue
		}
		// The number of elements must be counted by iterating.
		if it, ok := a.(starlark.Iterable); ok {
			n := 0
			for range starlark.Elements(it) {
				if n++; n > MaxElements {
					return tooLong(n, MaxElements, "elements")
				}
			}
		}
	}
	return nil
}

func ofTexts(_ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if err := boundedTexts(0, args...); err != nil {
		return err
	}
	for _, kv := range kwargs {
		if err := boundedTexts(0, kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// ofDigits bounds texts that become numbers, since the conversion takes time
// with the square of their length.
func ofDigits(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	for _, a := range args {
		if s, ok := a.(starlark.String); ok && len(s) > maxDigits {
			return tooLong(len(s), maxDigits, "digits")
		}
	}
	return nil
}

// methods has the checks for methods of Starlark's types, by name.
var methods = map[string]check{
	"difference":                  ofElements,
	"extend":                      ofElements,
	"format":                      ofFormat,
	"intersection":                ofElements,
	"issubset":                    ofElements,
	"issuperset":                  ofElements,
	"join":                        ofJoin,
	"replace":                     ofReplace,
	"rsplit":                      ofSplit,
	"split":                       ofSplit,
	"splitlines":                  ofSplit,
	"symmetric_difference":        ofElements,
	"symmetric_difference_update": ofElements,
	"union":                       ofElements,
	"update":                      ofElements,
}

// AskedMethod returns the checked form of v if v is one of these methods, else
// v.
func AskedMethod(v starlark.Value) starlark.Value {
	b, ok := v.(*starlark.Builtin)
	if !ok {
		return v
	}
	c := methods[b.Name()]
	if c == nil {
		return v
	}
	switch b.Receiver().(type) {
	case starlark.String, starlark.Bytes, *starlark.List, *starlark.Dict, *starlark.Set:
		return checkedBuiltin(b, c)
	}
	return v
}

func ofFormat(recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	format, ok := starlark.AsString(recv)
	if !ok {
		return nil
	}
	values := append(starlark.Tuple{}, args...)
	for _, kv := range kwargs {
		values = append(values, kv[1])
	}
	return boundedFormat(format, '{', values)
}

func ofJoin(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	if err := ofElements(recv, args, nil); err != nil {
		return err
	}
	sep, _ := starlark.AsString(recv)
	sum := 0
	for _, a := range args {
		it, ok := a.(starlark.Iterable)
		if !ok {
			return nil
		}
		for v := range starlark.Elements(it) {
			s, ok := starlark.AsString(v)
			if !ok {
				return nil // join itself returns the error
			}
			if sum += len(s) + len(sep); sum > MaxText {
				return errLongText
			}
		}
	}
	return nil
}

func ofReplace(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	s, ok := starlark.AsString(recv)
	if !ok || len(args) < 2 {
		return nil
	}
	old, _ := starlark.AsString(args[0])
	with, _ := starlark.AsString(args[1])
	if more := len(with) - len(old); more > 0 {
		if n := strings.Count(s, old); n > (MaxText-len(s))/more {
			return tooLong(len(s)+n*more, MaxText, "bytes")
		}
	}
	return nil
}

func ofSplit(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	s, ok := starlark.AsString(recv)
	if !ok || len(s) <= MaxElements {
		return nil // there are no more parts than bytes
	}
	sep := ""
	if len(args) > 0 {
		sep, _ = starlark.AsString(args[0])
	}
	n := 0
	if sep != "" {
		n = strings.Count(s, sep)
	} else {
		n = strings.Count(s, " ") + strings.Count(s, "\n") + strings.Count(s, "\t") + strings.Count(s, "\r")
	}
	if n >= MaxElements {
		return tooLong(n+1, MaxElements, "parts")
	}
	return nil
}
