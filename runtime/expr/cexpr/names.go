package cexpr

import (
	"sort"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// namesOf lists the variables of a scope.
func namesOf(sc *expr.Scope) []string {
	var names []string
	if sc.Schema != nil {
		sc.Schema.Field("") // Field makes the index that Names needs
		for _, n := range sc.Schema.Names() {
			names = append(names, n)
			if f, ok := sc.Schema.Field(n); ok && dynamic(f) {
				names = append(names, n+"_offset", n+"_len")
			}
		}
	}
	var more []string
	for part, s := range sc.Parts {
		for i := range s.Fields {
			more = append(more, part+"."+s.Fields[i].Name)
		}
	}
	for n := range sc.Consts {
		more = append(more, n)
	}
	for n := range sc.Vars {
		more = append(more, n)
	}
	sort.Strings(more)
	return append(names, more...)
}

// dynamic reports that a field's data are after the fixed part of the record.
func dynamic(f *event.Field) bool { return f.Place == event.DataLoc || f.Place == event.RelLoc }
