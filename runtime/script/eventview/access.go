package eventview

import (
	"encoding/binary"
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// An Access says how one attribute of one schema is read. It is computed once.
type Access struct {
	How   How
	Field *event.Field
	Attr  starlark.Value // value of a HowConst
	prog  *expr.Program  // program of a howVar

	// The last time that was read, and its value: functions read the time of an event more
	// than once, and each new value allocates.
	at   event.Time
	time starlark.Value
}

// How is the way in which an attribute is read.
type How uint8

const (
	HowConst How = iota
	howTime
	howPID
	howTID
	howCPU
	howI32 // fixed place, 4 bytes, signed
	howU32
	howInt // any other number, by Field.Int
	howUint
	howNanos
	howMoment
	howText
	howField // anything else, by Field.Value
	howBytes
	HowStart
	HowEnd
	HowDelay
	howSymbolic
	howEventText
	howVar // a computed value
)

// AccessOf finds the attribute with a name for events of schema s; nil if there
// is none.
func AccessOf(s *event.Schema, name string) *Access {
	var own *event.Field
	if s != nil {
		if f, ok := s.Field(name); ok {
			own = f
		}
	}
	if own != nil && own.Place != event.InMember {
		return fieldAccess(own)
	}
	switch name {
	case "start":
		return &Access{How: HowStart}
	case "end":
		return &Access{How: HowEnd}
	case "delay":
		return &Access{How: HowDelay}
	}
	if own != nil {
		return fieldAccess(own)
	}
	if s == nil {
		return nil
	}
	switch name {
	case "name", "_name":
		return &Access{Attr: starlark.String(s.Name)}
	case "system", "_system":
		return &Access{Attr: starlark.String(s.System)}
	case "symbolic", "_symbolic":
		return &Access{How: howSymbolic}
	case "text", "_text":
		return &Access{How: howEventText}
	}
	return nil
}

func fieldAccess(f *event.Field) *Access {
	a := &Access{How: howField, Field: f}
	switch {
	case f.Place == event.InMember && f.Member == event.MemberTime:
		a.How = howTime
	case f.Place == event.InMember && f.Member == event.MemberPID:
		a.How = howPID
	case f.Place == event.InMember && f.Member == event.MemberTID:
		a.How = howTID
	case f.Place == event.InMember && f.Member == event.MemberCPU:
		a.How = howCPU
	case f.Place == event.InSlot:
	case f.Kind == event.Str:
		a.How = howText
	case f.Kind == event.Bytes:
		a.How = howBytes
	case f.Kind != event.Int:
	case f.Unit == event.Nanos:
		a.How = howNanos
	case f.Unit == event.Moment:
		a.How = howMoment
	case f.Place == event.InRaw && f.Size == 4 && f.Signed:
		a.How = howI32
	case f.Place == event.InRaw && f.Size == 4:
		a.How = howU32
	case f.Signed || f.Size < 8:
		a.How = howInt
	default:
		a.How = howUint
	}
	return a
}

// Load reads the attribute. It is an error, as in compiled code, if the record
// is too short for the field, or if the source does not deliver it.
//
// Fast path: numbers below 2^31 and texts seen before do not allocate.
func (a *Access) Load(v *View, e *event.Event) (starlark.Value, error) {
	switch a.How {
	case HowConst:
		return a.Attr, nil
	case howTime:
		if a.time == nil || a.at != e.Time {
			a.at, a.time = e.Time, value.Time(e.Time)
		}
		return a.time, nil
	case howPID:
		return starlark.MakeInt64(int64(e.PID)), nil
	case howTID:
		return starlark.MakeInt64(int64(e.TID)), nil
	case howCPU:
		return starlark.MakeInt64(int64(e.CPU)), nil
	case howI32, howU32:
		off := a.Field.Offset
		if off < 0 || off+4 > len(e.Raw) {
			return nil, a.missing(e)
		}
		n := binary.LittleEndian.Uint32(e.Raw[off:])
		if a.How == howI32 {
			return starlark.MakeInt64(int64(int32(n))), nil
		}
		return starlark.MakeInt64(int64(n)), nil
	case howText:
		b := a.Field.Text(e)
		if b == nil {
			return nil, a.missing(e)
		}
		return v.cache.Text(b), nil
	case howBytes:
		return starlark.String(fieldText(a.Field, e)), nil
	case HowStart:
		if e.Derived == nil {
			return nil, notPair(e, "start")
		}
		return v.part(&v.start, e.Derived.Start), nil
	case HowEnd:
		if e.Derived == nil {
			return nil, notPair(e, "end")
		}
		return v.part(&v.end, e.Derived.End), nil
	case HowDelay:
		if e.Derived == nil {
			return nil, notPair(e, "delay")
		}
		if e.Derived.Start == nil || e.Derived.End == nil {
			return starlark.None, nil
		}
		return value.Duration(e.Derived.End.Time - e.Derived.Start.Time), nil
	case howSymbolic:
		return starlark.NewBuiltin("symbolic", symbolic).BindReceiver(v), nil
	case howEventText:
		return starlark.NewBuiltin("text", eventText).BindReceiver(v), nil
	case howVar:
		fr := &v.cache.frame
		fr.Reset(e)
		x := a.prog.Value(fr)
		if fr.Err != nil {
			return nil, fr.Err
		}
		return value.ToStarlark(x), nil
	case howField:
		return value.ToStarlark(a.Field.Value(e)), nil
	}
	n, ok := a.Field.Int(e)
	if !ok {
		return nil, a.missing(e)
	}
	switch a.How {
	case howUint:
		return value.BigUint(uint64(n)), nil
	case howNanos:
		return value.Duration(n), nil
	case howMoment:
		return value.Time(n), nil
	}
	return starlark.MakeInt64(n), nil
}

// missing is the error for a field that an event does not have.
func (a *Access) missing(e *event.Event) error {
	why := expr.ErrMissing
	if a.Field.Place != event.InMember {
		why = expr.ErrShort
	}
	s := schemaOf(e)
	return diag.Errorf(diag.Run, "event", s.FullName(), "%s: %w", a.Field.Name, why).
		WithHint("what a recording has of its events tells: ppscript info FILE")
}

func notPair(e *event.Event, name string) error {
	s := schemaOf(e)
	return diag.Errorf(diag.Run, "event", s.FullName(), "no field %s: the event is not a pair", name).
		WithHint("make pairs with join(a, b, key = ...)")
}

// symbolic is e.symbolic(field): the name of the field's value, from the
// event's own table; the plain value as text if it has no name.
func symbolic(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackArgs("symbolic", args, kwargs, "field", &name); err != nil {
		return nil, err
	}
	v := b.Receiver().(*View)
	e := v.ev
	if e == nil {
		return nil, errStale
	}
	s := schemaOf(e)
	f, ok := s.Field(name)
	if !ok {
		return nil, UnknownField(s, name, s.Names())
	}
	if s.SymbolicOf != nil {
		if text, ok := s.SymbolicOf(name, e); ok {
			return v.cache.Text([]byte(text)), nil
		}
	}
	n, isInt := f.Int(e)
	if !isInt {
		return starlark.String(f.Value(e).String()), nil
	}
	if s.SymbolicOf == nil && s.Symbolic != nil {
		if text, ok := symbolName(s.Symbolic(name), uint64(n)); ok {
			return v.cache.Text([]byte(text)), nil
		}
	}
	return starlark.String(f.Value(e).String()), nil
}

// symbolName is the name of n, or the names of its bits.
func symbolName(t *event.Symbols, n uint64) (string, bool) {
	if t == nil {
		return "", false
	}
	if !t.Flags {
		return t.Lookup(n)
	}
	if text, ok := t.Lookup(n); ok {
		return text, true
	}
	text, rest := "", n
	for _, bit := range t.Order {
		if bit != 0 && rest&bit == bit {
			if text != "" {
				text += t.Delim
			}
			text += t.Names[bit]
			rest &^= bit
		}
	}
	if rest != 0 {
		if text != "" {
			text += t.Delim
		}
		text += fmt.Sprintf("%#x", rest)
	}
	return text, text != ""
}

// eventText is e.text(): the event in the kernel's own form.
func eventText(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple,
	kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackArgs("text", args, kwargs); err != nil {
		return nil, err
	}
	e := b.Receiver().(*View).ev
	if e == nil {
		return nil, errStale
	}
	s := schemaOf(e)
	if s.Text != nil {
		return starlark.String(s.Text(nil, e)), nil
	}
	var out []byte
	for i := range s.Fields {
		f := &s.Fields[i]
		out = fmt.Appendf(out, " %s=%s", f.Name, f.Value(e).String())
	}
	if len(out) > 0 {
		out = out[1:]
	}
	return starlark.String(out), nil
}
