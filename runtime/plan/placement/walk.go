package placement

import "ppscript/runtime/expr"

// eachRead calls its functions with each field that n reads of events, including fields
// that a print fmt needs to name a value, and with reads of a record's memory. known is
// false if the event of a read is not known.
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
