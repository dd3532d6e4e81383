package eventkind

import (
	"encoding/binary"
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/source/eventspec"
)

// ExitReasons returns the function that names the exits of KVM's guests, for
// exit_reason_str(isa, code): isa is 1 for VMX, 2 for SVM, 3 for ARM. The names are read from
// the format of the kernel's event, of this machine or of the recording, since a list here would
// become wrong with the next kernel. find returns the schema of that event.
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

// exitRecord makes the record that the kernel would write for an exit with that
// reason. field is the field that has the reason.
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
