package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/script"
	"ppscript/runtime/script/eventview"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

func stateBuiltin() *b.Builtin {
	return &b.Builtin{
		Name:    "state",
		Group:   b.Hosted,
		Summary: "Makes an object whose attributes can change while a session runs.",
		Params: []b.Param{
			{Name: "attribute", Type: b.Any, Rest: "**", Doc: "name and first value of each attribute"},
		},
		Returns: "state",
		Result:  "attributes are read and assigned; new ones cannot be added. Lists and dicts in it can change too",
		Errors:  "no such attribute; an event is assigned, which ends with the call; it holds more than scripts may (256 MiB, docs/limits.md)",
		Source:  source,
		Cost:    "one look-up for each access",
		Examples: []b.Example{{
			Code:   "c = state(n = 0)\ndef hit():\n    c.n += 1\n[hit() for _ in range(3)]\nc.n",
			Output: "3",
		}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := &state{names: make([]string, 0, len(c.KW)), vals: make([]starlark.Value, 0, len(c.KW))}
			s.most = script.LimitsOf(c.Thread)
			for _, kv := range c.KW {
				name := string(kv[0].(starlark.String))
				if err := keepable(name, kv[1]); err != nil {
					return nil, err
				}
				s.names = append(s.names, name)
				s.vals = append(s.vals, kv[1])
			}
			return s, nil
		},
	}
}

// A state is a mutable object that ignores Freeze. It is not safe for use by
// functions that run on different goroutines.
//
// Attributes are in an array, not a map: there are few of them.
type state struct {
	names []string
	vals  []starlark.Value
	growth
}

var _ starlark.HasSetField = (*state)(nil)

func (s *state) Type() string          { return "state" }
func (s *state) Freeze()               {} // a state stays mutable
func (s *state) Truth() starlark.Bool  { return true }
func (s *state) Hash() (uint32, error) { return 0, errors.New("unhashable: state") }

func (s *state) String() string {
	var out strings.Builder
	out.WriteString("state(")
	for i, n := range s.names {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(n + " = ")
		if s.vals[i] == starlark.Value(s) {
			out.WriteString("...")
			continue
		}
		switch s.vals[i].(type) {
		case *state, *starlark.List, *starlark.Dict, *starlark.Set, starlark.Tuple, *starlarkstruct.Struct:
			// The value may contain s again: show its type, not its content.
			fmt.Fprintf(&out, "<%s>", s.vals[i].Type())
		default:
			out.WriteString(s.vals[i].String())
		}
	}
	out.WriteString(")")
	return out.String()
}

func (s *state) AttrNames() []string {
	names := slices.Clone(s.names)
	slices.Sort(names)
	return names
}

func (s *state) Attr(name string) (starlark.Value, error) {
	if err := s.bounded(s); err != nil {
		return nil, err
	}
	for i, n := range s.names {
		if n == name {
			return s.vals[i], nil
		}
	}
	return nil, nil
}

func (s *state) SetField(name string, v starlark.Value) error {
	if err := s.bounded(s); err != nil {
		return err
	}
	for i, n := range s.names {
		if n == name {
			if _, ok := v.(starlark.Tuple); ok {
				if err := script.Walkable(v); err != nil {
					return &diag.Error{Op: "state", Subject: name, Cause: err, Hint: "keep less"}
				}
			}
			if err := keepable(name, v); err != nil {
				return err
			}
			s.vals[i] = v
			return nil
		}
	}
	return diag.Errorf(diag.Run, "state", name, "no such attribute%s", diag.DidYouMean(name, s.names)).
		WithHint("declare it: state(%s = None)", name)
}

// keepable is an error if v contains an event, which is not valid after the
// call.
func keepable(name string, v starlark.Value) error {
	bad := false
	switch v := v.(type) {
	case *eventview.View:
		bad = true
	case starlark.Tuple:
		for _, m := range v {
			if keepable(name, m) != nil {
				bad = true
			}
		}
	}
	if bad {
		return diag.Errorf(diag.Run, "state", name, "an event ends with the call that received it").
			WithHint("keep the fields that you need, for example s.%s = e.time", name)
	}
	return nil
}

// CompareSameType compares states by identity. For an order it returns a better
// message than the default.
func (s *state) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	switch op {
	case syntax.EQL:
		return s == y.(*state), nil
	case syntax.NEQ:
		return s != y.(*state), nil
	}
	return false, errors.New("states have no order")
}
