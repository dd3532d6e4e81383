// Package pipeline declares the builtins for streams of events: they filter,
// compute fields, group and aggregate, join, and show events. A stream only
// describes events: nothing is opened until the results that main returns are
// run.
package pipeline

import (
	"errors"
	"strings"
	"sync"

	b "ppscript/builtins"
	"ppscript/builtins/results"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

// A Stream is a stream as a Starlark value. All streams have the same methods;
// sources also have attributes.
type Stream struct {
	S plan.Stream
	// Pairs says that the events are pairs.
	Pairs bool
	// Spans says that the events are no pairs but, like pairs, have a begin and a delay.
	Spans bool
}

// spans reports that the events have a begin and a delay.
func (s *Stream) spans() bool { return s.Pairs || s.Spans }

var _ starlark.HasAttrs = (*Stream)(nil)

func (s *Stream) String() string {
	if src := s.source(); src != nil {
		return "<stream " + src.FullName() + ">"
	}
	if s.Pairs {
		return "<stream of pairs>"
	}
	return "<stream>"
}
func (s *Stream) Type() string          { return "stream" }
func (s *Stream) Freeze()               {} // methods make new streams
func (s *Stream) Truth() starlark.Bool  { return true }
func (s *Stream) Hash() (uint32, error) { return 0, errors.New("unhashable: stream") }

// source returns the source that the stream is; nil if the stream is made by an
// operation.
func (s *Stream) source() *plan.Source { return sourceOf(s.S) }

func sourceOf(s plan.Stream) *plan.Source {
	switch s := s.(type) {
	case *plan.Source:
		return s
	case *plan.WithStack:
		return sourceOf(s.In)
	case *plan.Profiler:
		return s.As
	}
	return nil
}

// methods has the methods of streams. It is filled at first use, since their
// implementations refer to it.
var methods = sync.OnceValue(func() *b.MethodSet { return b.Methods("stream", Builtins()) })

// Attr returns a method, or an attribute of a source.
func (s *Stream) Attr(name string) (starlark.Value, error) {
	steps := []b.Step{{Code: `.by("comm")`, To: groupMethods()},
		{Code: `.by("comm").count()`, To: results.TableMethods()}}
	stacks := b.Step{Code: ".stacks()", To: results.StackMethods()}
	if _, ok := s.S.(*plan.WithStack); ok {
		steps = append([]b.Step{stacks}, steps...)
	} else {
		steps = append(steps, stacks)
	}
	return methods().AttrOr(s, name, []b.Habit{habits, numbers}, steps...)
}

// AttrNames lists the methods.
func (s *Stream) AttrNames() []string { return methods().Names() }

// with makes a stream from s with the receiver's Pairs and Spans.
func with(c *b.Call, s plan.Stream) *Stream {
	from := c.Receiver.(*Stream)
	return &Stream{S: s, Pairs: from.Pairs, Spans: from.Spans}
}

// in returns the receiver's stream.
func in(c *b.Call) plan.Stream { return c.Receiver.(*Stream).S }

// fnOf makes a per-event function from an expression argument.
func fnOf(c *b.Call, v starlark.Value) (plan.Fn, error) {
	if s, ok := starlark.AsString(v); ok {
		return plan.Fn{Text: s, Pos: c.Pos()}, nil
	}
	if list, ok := v.(starlark.Tuple); ok {
		return keysOf(c, list)
	}
	f, err := frontend.NewFunc(c.Host(), v.(starlark.Callable))
	if err != nil {
		return plan.Fn{}, err
	}
	return plan.Fn{Call: f, Pos: c.Pos()}, nil
}

// keys is the type of parameters with a key: an expression, or a list of
// expressions.
var keys = b.Or(b.Expression, b.ListOf(b.Expression))

// keysOf makes a composite key from a list of expressions.
func keysOf(c *b.Call, list starlark.Tuple) (plan.Fn, error) {
	if len(list) == 0 {
		return plan.Fn{}, errors.New("the list of keys is empty")
	}
	f := plan.Fn{Pos: c.Pos()}
	var names []string
	for _, v := range list {
		m, err := fnOf(c, v)
		if err != nil {
			return plan.Fn{}, err
		}
		f.List = append(f.List, m)
		name := m.Text
		if m.Call != nil {
			name = m.Call.Name() + " at " + m.Call.Pos()
		}
		names = append(names, name)
	}
	f.Text = "[" + strings.Join(names, ", ") + "]"
	return f, nil
}

// arg returns the per-event function of a parameter; nil if the argument is
// absent.
func arg(c *b.Call, name string) (*plan.Fn, error) {
	if !c.Has(name) {
		return nil, nil
	}
	f, err := fnOf(c, c.Value(name))
	return &f, err
}
