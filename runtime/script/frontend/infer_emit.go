package frontend

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/text/diag"

	"go.starlark.net/syntax"
)

// This file infers the fields that emit makes, and checks that all calls agree.

// An emitSite is one call of emit.
type emitSite struct {
	call  *syntax.CallExpr
	names []string
	kinds []Kind
	from  [][]expr.Node // nodes of the values, see role.origin
}

// emit records the fields of a call of emit.
func (s *scan) emit(e *syntax.CallExpr) {
	site := &emitSite{call: e}
	for _, a := range e.Args {
		b, ok := a.(*syntax.BinaryExpr)
		if !ok || b.Op != syntax.EQ {
			s.fail(a, diag.Errorf(diag.Run, "emit", "", "got a value without a name").
				WithHint("name every value: emit(delay = e.time - s.since)"))
			s.value(a)
			continue
		}
		name := b.X.(*syntax.Ident).Name
		r := s.value(b.Y)
		k := r.kind
		if k == kindMixed {
			k = kindUnknown
		}
		if k == kindNone || k == kindOther {
			s.fail(b.Y, diag.Errorf(diag.Run, "emit", name, "got a %s, want a number, text or duration", k).
				WithHint("emit one value for each name"))
		}
		site.names = append(site.names, name)
		site.kinds = append(site.kinds, k)
		site.from = append(site.from, r.origin())
	}
	if len(e.Args) == 0 {
		s.fail(e, diag.Errorf(diag.Run, "emit", "", "got no values").
			WithHint("write emit(delay = e.time - s.since)"))
	}
	if s.apart > 0 {
		return
	}
	for _, old := range s.emits {
		if old.call == e {
			for i := range site.kinds {
				if i < len(old.kinds) && site.kinds[i] != kindUnknown {
					old.kinds[i] = site.kinds[i] // the kind was unknown in an earlier walk
				}
				if i < len(old.from) {
					old.from[i] = site.from[i]
				}
			}
			return
		}
	}
	s.emits = append(s.emits, site)
}

// fields returns the fields of the new stream, and the nodes of the values of each. It is an error
// if calls of emit do not agree.
func (in *inference) fields() (fields []event.Field, from [][]expr.Node) {
	if len(in.emits) == 0 {
		return nil, nil
	}
	first := in.emits[0]
	kinds := slices.Clone(first.kinds)
	from = slices.Clone(first.from)
	report := &scan{inference: in}
	for _, site := range in.emits[1:] {
		for _, n := range first.names {
			if !slices.Contains(site.names, n) {
				report.fail(site.call, diag.Errorf(diag.Run, "emit", n, "missing here, but given at %s",
					syntax.Start(first.call)).
					WithHint("every emit of a fold gives the same names"))
			}
		}
		for i, n := range site.names {
			at := slices.Index(first.names, n)
			if at < 0 {
				report.fail(site.call.Args[i],
					diag.Errorf(diag.Run, "emit", n, "not given at %s%s", syntax.Start(first.call),
						diag.DidYouMean(n, first.names)).
						WithHint("every emit of a fold gives the same names"))
				continue
			}
			if k := joinKinds(kinds[at], site.kinds[i]); k == kindMixed {
				report.fail(site.call.Args[i],
					diag.Errorf(diag.Run, "emit", n, "is a %s here, but a %s at %s",
						site.kinds[i], kinds[at], syntax.Start(first.call)).
						WithHint("emit values of one kind"))
			} else {
				kinds[at] = k
			}
			from[at] = origins(from[at], site.from[i])
		}
	}
	fields = make([]event.Field, len(kinds))
	for i, n := range first.names {
		fields[i] = event.FieldOf(n, kinds[i].Type, i)
	}
	return fields, from
}
