package eventkind

import (
	"encoding/binary"
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/source/eventspec"
)

// ExitReasons names the exits of KVM's guests, for exit_reason_str(isa, code):
// isa is 1 for VMX, 2 for SVM, 3 for ARM. The kernel's own words are in the
// format of its event, of this machine or of the recording, which find finds: other lists become
// wrong with the next kernel.
func ExitReasons(find func(s eventspec.Spec) *event.Schema) func(isa, code int64) string {
	var schema *event.Schema
	asked := false
	return func(isa, code int64) string {
		if !asked {
			asked = true
			schema = find(eventspec.Spec{Kind: eventspec.Tracepoint, System: "kvm", Name: "kvm_exit"})
		}
		if schema != nil && schema.SymbolicOf != nil {
			if name, ok := schema.SymbolicOf(exitRecord(schema, isa, code)); ok {
				return name
			}
		}
		return fmt.Sprint(code)
	}
}

// exitRecord is an exit for that reason, as the kernel would record it, and the
// field that has the reason.
func exitRecord(s *event.Schema, isa, code int64) (field string, e *event.Event) {
	const arm = 3
	if field = "exit_reason"; isa == arm {
		field = "esr_ec"
	}
	size := 0
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Place == event.InRaw {
			size = max(size, f.Offset+f.Size)
		}
	}
	raw := make([]byte, size)
	for name, v := range map[string]int64{field: code, "isa": isa} {
		if f, ok := s.Field(name); ok && f.Place == event.InRaw {
			binary.LittleEndian.PutUint32(raw[f.Offset:], uint32(v))
		}
	}
	return field, &event.Event{Raw: raw, Stream: &event.Stream{Schema: s}}
}
