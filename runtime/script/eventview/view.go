package eventview

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// This file presents events to functions that stay interpreted.
//
// A View is reused for many events, since a new value for each would cost more
// than the call. It is valid only during the call that received it; a script
// that keeps one gets an error when it uses it later. For that the Views of a
// Func take turns: a single View would silently show the next event to a script
// that kept the last one.

// A View is an event as a Starlark value. Its attributes are, in this order:
// values computed by let, the fields of the schema, start, end, delay and key
// of a pair, the members of the sample, and name, system, symbolic(field),
// text(). An attribute hides later ones with the same name; _name, _system,
// _time, _pid, ... are never hidden.
type View struct {
	ev    *event.Event
	start *View // views of a pair's events; made on first use, reused
	end   *View
	cache *Cache
}

var _ starlark.HasAttrs = (*View)(nil)

// New makes a View without an event; see Show.
func New() *View { return &View{cache: &Cache{}} }

// Another makes a View that shares v's Cache.
func (v *View) Another() *View { return &View{cache: v.cache} }

// Cache returns the cache of v.
func (v *View) Cache() *Cache { return v.cache }

// Show sets the event of the view; nil makes it invalid.
//
// Fast path: nothing else happens per event.
func (v *View) Show(e *event.Event) {
	v.ev = e
	if v.start != nil {
		v.start.ev = nil
	}
	if v.end != nil {
		v.end.ev = nil
	}
}

// Event returns the event of the view; nil outside a call.
func (v *View) Event() *event.Event { return v.ev }

func (v *View) Type() string         { return "event" }
func (v *View) Freeze()              {}
func (v *View) Truth() starlark.Bool { return v.ev != nil }
func (v *View) Hash() (uint32, error) {
	return 0, errors.New("unhashable: event; use one of its fields")
}

func (v *View) String() string {
	if v.ev == nil {
		return "<event, no longer valid>"
	}
	s := schemaOf(v.ev)
	if s == nil {
		return "<event>"
	}
	return "<event " + s.FullName() + ">"
}

func schemaOf(e *event.Event) *event.Schema {
	if e == nil || e.Stream == nil {
		return nil
	}
	return e.Stream.Schema
}

var errStale = (&diag.Error{Op: "event", Cause: errors.New("used after the call that received it"),
	Hint: "keep the fields that you need, for example state(last = e.time), not the event"})

// Attr returns a field, sample member or method.
func (v *View) Attr(name string) (starlark.Value, error) {
	e := v.ev
	if e == nil {
		return nil, errStale
	}
	a := v.cache.Find(e.Stream, name)
	if a == nil {
		return nil, v.unknown(name)
	}
	return a.Load(v, e)
}

// AttrNames lists the attributes, for dir().
func (v *View) AttrNames() []string {
	s := schemaOf(v.ev)
	names := []string{"name", "system", "symbolic", "text"}
	if s == nil {
		return names
	}
	if v.ev.Derived != nil && (v.ev.Derived.Start != nil || v.ev.Derived.End != nil) {
		names = append(names, PairNames...)
	}
	return append(names, s.Names()...)
}

// PairNames are the attributes that only pairs have.
var PairNames = []string{"start", "end", "delay"}

func (v *View) unknown(name string) error {
	s := schemaOf(v.ev)
	if s == nil {
		return diag.Errorf(diag.Run, "event", "", "no field %s: the event has no schema", name)
	}
	return UnknownField(s, name, v.AttrNames())
}

// UnknownField is the error for a field that schema s does not have; names are
// the existing ones.
func UnknownField(s *event.Schema, name string, names []string) *diag.Error {
	err := diag.Errorf(diag.Run, "event", s.FullName(), "no field %s%s", name, diag.DidYouMean(name, names))
	err.Hint = fieldsHint(s)
	return err
}

// fieldsHint is the hint how to list the fields of an event. For derived events
// it lists the few fields themselves.
func fieldsHint(s *event.Schema) string {
	switch s.System {
	case "pair":
		return "a pair has start, end, delay and key; fields of the events are start.FIELD and end.FIELD"
	case "fold", "counter":
		var names []string
		for i := range s.Fields {
			names = append(names, s.Fields[i].Name)
		}
		return "it has " + strings.Join(names, ", ")
	}
	return "list its fields: ppscript -e " + s.FullName() + " help"
}

// A Cache finds the accessor of an attribute of a stream's events. The views of one
// function share it.
type Cache struct {
	stream *event.Stream // stream of recent
	recent [8]accessorCache
	next   uint8
	all    map[*event.Stream]map[string]*Access
	texts  map[string]starlark.Value // texts made before, as Starlark values
	// vars are the computed values (let) of events.
	vars     map[Of]map[string]*expr.Program
	complete map[int]bool // streams, by index, whose computed values are all bound to the stream: see Know
	frame    expr.Frame
	// parts is the Cache for the events of pairs, which are of other streams. In that
	// Cache, whole is the Cache of the pairs.
	parts, whole *Cache
}

// ofParts returns the Cache for the events of pairs.
func (c *Cache) ofParts() *Cache {
	if c.parts == nil {
		c.parts = &Cache{whole: c}
	}
	return c.parts
}

// computed returns the program of a computed value; nil if there is none.
func (c *Cache) computed(of Of, name string) *expr.Program {
	for c.whole != nil {
		c = c.whole
	}
	return c.vars[of][name]
}

// accessorCache finds accessors by the address of the name's bytes: an
// attribute name in compiled code is the same string each time, and comparing a
// pointer is cheaper than hashing.
type accessorCache struct {
	data *byte
	n    int
	acc  *Access
}

// Find returns the accessor of an attribute of a stream's events; nil if they do
// not have the attribute.
//
// Fast path: the same stream as for the last event, and a name seen before.
func (c *Cache) Find(s *event.Stream, name string) *Access {
	if s == c.stream {
		p := unsafe.StringData(name)
		for i := range c.recent {
			if r := &c.recent[i]; r.data == p && r.n == len(name) {
				return r.acc
			}
		}
	}
	return c.findSlow(s, name)
}

// Slow path: another stream, or a name that is not in recent.
func (c *Cache) findSlow(s *event.Stream, name string) *Access {
	if s != c.stream {
		c.stream = s
		c.recent = [8]accessorCache{}
	}
	byName := c.all[s]
	if byName == nil {
		if c.all == nil {
			c.all = map[*event.Stream]map[string]*Access{}
		}
		byName = map[string]*Access{}
		c.all[s] = byName
	}
	acc, ok := byName[name]
	if !ok {
		var schema *event.Schema
		var prog *expr.Program
		if s != nil {
			schema = s.Schema
			prog = c.computed(Of{Stream: s.Index + 1}, name)
		}
		// The event of a pair has the values that the pair computes for it, also if its
		// stream has others.
		own := s != nil && c.complete[s.Index] && c.whole == nil
		if prog == nil && !own {
			prog = c.computed(Of{Schema: schema}, name)
		}
		if prog != nil {
			acc = &Access{How: howVar, prog: prog}
		} else if acc = AccessOf(schema, name); acc == nil {
			return nil
		}
		byName[name] = acc
	}
	c.recent[c.next] = accessorCache{unsafe.StringData(name), len(name), acc}
	c.next = (c.next + 1) % uint8(len(c.recent))
	return acc
}

const maxTexts = 1024

// Text returns b as a Starlark string. Texts of events repeat (comm, device
// names), so an earlier value is used again.
func (c *Cache) Text(b []byte) starlark.Value {
	if v, ok := c.texts[string(b)]; ok {
		return v
	}
	if c.texts == nil || len(c.texts) >= maxTexts {
		c.texts = make(map[string]starlark.Value)
	}
	s := string(b)
	var v starlark.Value = starlark.String(s)
	c.texts[s] = v
	return v
}

// part returns a View of one event of a pair; None for nil.
func (v *View) part(slot **View, e *event.Event) starlark.Value {
	if e == nil {
		return starlark.None
	}
	if *slot == nil {
		*slot = &View{cache: v.cache.ofParts()}
	}
	(*slot).Show(e)
	return *slot
}

func fieldText(f *event.Field, e *event.Event) string {
	return fmt.Sprintf("%x", f.Loc(e))
}
