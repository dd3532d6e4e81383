package expr

import "ppscript/runtime/event"

// RecordRead is the number of bytes, from the begin of the record, that programs read
// in the records of the parts of pairs; negative if unknown.
func RecordRead(programs []*Program) int {
	n := 0
	for _, prog := range programs {
		if prog.Node == nil {
			return -1
		}
		Walk(prog.Node, func(x Node) bool {
			switch x := x.(type) {
			case *Field:
				switch {
				case n < 0 || x.Part == Self:
				case x.F.Place == event.InRaw:
					n = max(n, x.F.Offset+x.F.Size)
				case x.F.Place == event.InMember && x.F.Member.OfEvent():
				default:
					n = -1
				}
			case *Mem, *CStr, *MemBytes:
				n = -1
			case *Native:
				// The print fmt of kvm_exit needs another field to name a
				// reason. Texts of a process are not in the record.
				if x.Is(Interprets | ReadsRecord | ReadsProcess) {
					n = -1
				}
			}
			return true
		})
		if n < 0 {
			return -1
		}
	}
	return n
}
