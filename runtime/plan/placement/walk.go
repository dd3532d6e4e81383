package placement

import "ppscript/runtime/expr"

// eachRead tells what n reads of events: each field, those too by which a print fmt names a
// value, and memory of a record. known is false if it is not known of which event.
func eachRead(n expr.Node, field func(f *expr.Field), memory func(of expr.Part, known bool)) {
	if n == nil {
		return
	}
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.Field:
			field(n)
		case *expr.Mem:
			_, part, ok := expr.RecordOffset(n.Addr)
			memory(part, ok)
		case *expr.CStr, *expr.MemBytes:
			memory(expr.Self, false)
		case *expr.Native:
			if n.Is(expr.ReadsRecord) {
				for _, f := range namedBy(n) {
					field(&expr.Field{F: f.F, Part: f.Part})
				}
			}
		}
		return true
	})
}
