package overlap

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/key"
)

// Facts are the values that a part copies from the spans it lies in.
type Facts struct{ Fields []event.Field }

// Add adds a fact, or finds it, and sets the program that computes it. It returns false if
// the fact would be a text in some spans and a number in others.
func (x *Facts) Add(progs []*expr.Program, name string, p *expr.Program,
	shown func(event.Value) (string, bool)) ([]*expr.Program, bool) {
	f := key.Field(p)
	f.Name, f.Shown = name, shown
	i := slices.IndexFunc(x.Fields, func(f event.Field) bool { return f.Name == name })
	if i < 0 {
		i = len(x.Fields)
		x.Fields = append(x.Fields, f)
	}
	for len(progs) <= i {
		progs = append(progs, nil)
	}
	progs[i] = p
	return progs, x.Fields[i].Kind == f.Kind
}

// Settle completes the Spec when all facts are known: it sets the facts of the rest, and
// gives each source a program for every fact.
func (x *Facts) Settle(s *Spec, sources []*Source) {
	for i := range x.Fields {
		none := event.StrOf("")
		if f := &x.Fields[i]; f.Kind == event.Int || f.Kind == event.Float {
			none = f.Maker()(0)
		}
		s.None = append(s.None, none)
	}
	for _, from := range sources {
		for stream, progs := range from.Facts {
			from.Facts[stream] = append(progs, make([]*expr.Program, len(x.Fields)-len(progs))...)
		}
	}
}

// System is the system of the schemas of parts.
const System = "part"

// PartSchema describes the parts of spans. own is the number of slots of the span;
// clash is a name that both have, "" if none.
func (x *Facts) PartSchema(name string, of *event.Schema) (s *event.Schema, own int, clash string) {
	s = &event.Schema{System: System, Name: name, Fields: append([]event.Field{
		{Name: "delay", Type: "u64", Unit: event.Nanos, Size: 8, Signed: true},
		{Name: "begin", Type: "u64", Unit: event.Moment, Size: 8, Signed: true},
		{Name: "part", Type: "char[]", Kind: event.Str},
	}, x.Fields...)}
	more := len(s.Fields)
	for _, f := range of.Fields {
		if f.Place == event.InSlot {
			own = max(own, f.Offset+1)
		}
		same := func(g event.Field) bool { return g.Name == f.Name }
		switch at := slices.IndexFunc(s.Fields[:more], same); {
		case at < 0:
			s.Fields = append(s.Fields, f)
		case at > slotBegin:
			clash = f.Name
		}
	}
	for i := range s.Fields[:more] {
		if i > slotName && s.Fields[i].Name == s.Fields[slotName].Name {
			clash = s.Fields[i].Name
		}
		s.Fields[i].Place, s.Fields[i].Offset = event.InSlot, own+i
	}
	return s, own, clash
}
