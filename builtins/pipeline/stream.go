// Package pipeline declares the operations on streams of events: filter and
// name, group and aggregate, join, show. Streams are lazy values: nothing is
// opened until a result that main returns is run.
package pipeline

import (
	"errors"
	"sync"

	b "ppscript/builtins"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

// A Stream is a stream as a Starlark value. Sources have attributes of their
// event string, pairs have a start and an end; all have the same methods.
type Stream struct {
	S plan.Stream
	// Pairs says that the events are pairs.
	Pairs bool
	// Spans says of other events that they have a begin, and a delay since then, as pairs.
	Spans bool
}

// spans reports that the events have a begin.
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

// source is the event of the stream; nil if the stream is not a single event.
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

// methods are found at first use: their implementations refer to them.
var methods = sync.OnceValue(func() *b.MethodSet { return b.Methods("stream", Builtins()) })

// Attr returns a method, or an attribute of a source.
func (s *Stream) Attr(name string) (starlark.Value, error) { return methods().Attr(s, name) }

// AttrNames lists the methods.
func (s *Stream) AttrNames() []string { return methods().Names() }

// with is a stream made of the receiver's, keeping that it is one of pairs or spans.
func with(c *b.Call, s plan.Stream) *Stream {
	from := c.Receiver.(*Stream)
	return &Stream{S: s, Pairs: from.Pairs, Spans: from.Spans}
}

// in is the receiver's stream.
func in(c *b.Call) plan.Stream { return c.Receiver.(*Stream).S }

// fnOf makes a per-event function of an expression argument.
func fnOf(c *b.Call, v starlark.Value) (plan.Fn, error) {
	if s, ok := starlark.AsString(v); ok {
		return plan.Fn{Text: s, Pos: c.Pos()}, nil
	}
	f, err := frontend.NewFunc(c.Host(), v.(starlark.Callable))
	if err != nil {
		return plan.Fn{}, err
	}
	return plan.Fn{Call: f, Pos: c.Pos()}, nil
}

// arg is the per-event function of a parameter; nil if it is absent.
func arg(c *b.Call, name string) (*plan.Fn, error) {
	if !c.Has(name) {
		return nil, nil
	}
	f, err := fnOf(c, c.Value(name))
	return &f, err
}
