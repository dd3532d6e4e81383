package frontend

import (
	"encoding/binary"
	"fmt"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/value"

	"go.starlark.net/starlark"
)

// An access is how one attribute of one schema is read, settled once.
type access struct {
	how   how
	field *event.Field
	attr  starlark.Value // of howConst
	prog  *expr.Program  // of howVar
}

type how uint8

const (
	howConst how = iota
	howTime
	howPID
	howTID
	howCPU
	howI32 // fixed place, 4 bytes, signed
	howU32
	howInt // any number, through Field.Int
	howUint
	howNanos
	howMoment
	howText
	howField // anything else, through Field.Value
	howBytes
	howStart
	howEnd
	howDelay
	howSymbolic
	howEventText
	howVar // a computed value
)

// accessOf decides what name means for events of s; nil if nothing.
func accessOf(s *event.Schema, name string) *access {
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
		return &access{how: howStart}
	case "end":
		return &access{how: howEnd}
	case "delay":
		return &access{how: howDelay}
	}
	if own != nil {
		return fieldAccess(own)
	}
	if s == nil {
		return nil
	}
	switch name {
	case "name", "_name":
		return &access{attr: starlark.String(s.Name)}
	case "system", "_system":
		return &access{attr: starlark.String(s.System)}
	case "symbolic", "_symbolic":
		return &access{how: howSymbolic}
	case "text", "_text":
		return &access{how: howEventText}
	}
	return nil
}

func fieldAccess(f *event.Field) *access {
	a := &access{how: howField, field: f}
	switch {
	case f.Place == event.InMember && f.Member == event.MemberTime:
		a.how = howTime
	case f.Place == event.InMember && f.Member == event.MemberPID:
		a.how = howPID
	case f.Place == event.InMember && f.Member == event.MemberTID:
		a.how = howTID
	case f.Place == event.InMember && f.Member == event.MemberCPU:
		a.how = howCPU
	case f.Place == event.InSlot:
	case f.Kind == event.Str:
		a.how = howText
	case f.Kind == event.Bytes:
		a.how = howBytes
	case f.Kind != event.Int:
	case f.Unit == event.Nanos:
		a.how = howNanos
	case f.Unit == event.Moment:
		a.how = howMoment
	case f.Place == event.InRaw && f.Size == 4 && f.Signed:
		a.how = howI32
	case f.Place == event.InRaw && f.Size == 4:
		a.how = howU32
	case f.Signed || f.Size < 8:
		a.how = howInt
	default:
		a.how = howUint
	}
	return a
}

// load reads the attribute. A field that the record is too short for, or that
// the source does not deliver, is None.
//
// Fast path: numbers below 2^31 and texts seen before do not allocate.
func (a *access) load(v *View, e *event.Event) (starlark.Value, error) {
	switch a.how {
	case howConst:
		return a.attr, nil
	case howTime:
		return value.Time(e.Time), nil
	case howPID:
		return starlark.MakeInt64(int64(e.PID)), nil
	case howTID:
		return starlark.MakeInt64(int64(e.TID)), nil
	case howCPU:
		return starlark.MakeInt64(int64(e.CPU)), nil
	case howI32, howU32:
		off := a.field.Offset
		if off < 0 || off+4 > len(e.Raw) {
			return starlark.None, nil
		}
		n := binary.LittleEndian.Uint32(e.Raw[off:])
		if a.how == howI32 {
			return starlark.MakeInt64(int64(int32(n))), nil
		}
		return starlark.MakeInt64(int64(n)), nil
	case howText:
		b := a.field.Text(e)
		if b == nil {
			return starlark.None, nil
		}
		return v.cache.text(b), nil
	case howBytes:
		return starlark.String(fieldText(a.field, e)), nil
	case howStart:
		if e.Derived == nil {
			return nil, notPair(e, "start")
		}
		return v.part(&v.start, e.Derived.Start), nil
	case howEnd:
		if e.Derived == nil {
			return nil, notPair(e, "end")
		}
		return v.part(&v.end, e.Derived.End), nil
	case howDelay:
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
		return value.ToStarlark(a.field.Value(e)), nil
	}
	n, ok := a.field.Int(e)
	if !ok {
		return starlark.None, nil
	}
	switch a.how {
	case howUint:
		return value.BigUint(uint64(n)), nil
	case howNanos:
		return value.Duration(n), nil
	case howMoment:
		return value.Time(n), nil
	}
	return starlark.MakeInt64(n), nil
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
		return nil, unknownField(s, name, s.Names())
	}
	if s.SymbolicOf != nil {
		if text, ok := s.SymbolicOf(name, e); ok {
			return v.cache.text([]byte(text)), nil
		}
	}
	n, isInt := f.Int(e)
	if !isInt {
		return starlark.String(f.Value(e).String()), nil
	}
	if s.SymbolicOf == nil && s.Symbolic != nil {
		if text, ok := symbolName(s.Symbolic(name), uint64(n)); ok {
			return v.cache.text([]byte(text)), nil
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

// eventText is e.text(): the event as the kernel would print it.
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
