package task

import (
	"strings"

	"ppscript/runtime/event"
)

// This file reads names from the fields of events. Scheduler and task events
// have the comm of a thread beside its pid. This is the most exact source,
// because the kernel read the name when the event happened. Pairs are found by
// the kernel's spelling: X_comm belongs to X_pid, comm to pid. A comm without
// such a pid (oldcomm) is left alone. Only events of systems whose field pid is
// a thread's number are used: elsewhere pid may be the number in a namespace,
// or a field of a user's own probe.

var trusted = map[string]bool{"sched": true, "task": true, "signal": true, "oom": true, "cgroup": true}

// commFields are the pairs of fields of a schema that name a thread.
type commFields struct {
	pairs []pair
}

type pair struct{ pid, comm *event.Field }

// observe records the names in a sample's fields. Events of most schemas have
// none and cost one comparison.
func (t *Table) observe(e *event.Event) {
	if e.Stream == nil || len(e.Raw) == 0 {
		return
	}
	if e.Stream.Schema != t.schema {
		t.learn(e.Stream.Schema)
	}
	for i := range t.lastSchema.pairs {
		p := &t.lastSchema.pairs[i]
		tid, ok := p.pid.Int(e)
		if !ok || tid <= 0 || tid != int64(int32(tid)) {
			continue
		}
		if comm := p.comm.Text(e); len(comm) > 0 {
			t.noteComm(int32(tid), comm, e.Time)
		}
	}
}

// Tells returns the fields of a schema that hold names and their pids. A caller
// that keeps only some fields of a record must keep these too if names are
// needed.
func Tells(schema *event.Schema) (fields []*event.Field) {
	for _, p := range pairsOf(schema).pairs {
		fields = append(fields, p.pid, p.comm)
	}
	return fields
}

func (t *Table) noteComm(tid int32, comm []byte, when event.Time) {
	if slot, ok := t.index[tid]; ok {
		th := &t.slots[slot]
		if when < th.since || th.state != guessed && th.name == string(comm) {
			return
		}
	}
	t.rename(tid, string(comm), when)
}

func (t *Table) learn(schema *event.Schema) {
	n, ok := t.schemas[schema]
	if !ok {
		n = pairsOf(schema)
		t.schemas[schema] = n
	}
	t.schema, t.lastSchema = schema, n
}

func pairsOf(schema *event.Schema) *commFields {
	n := &commFields{}
	// sched_process_wait has the comm of the waiting thread and the pid of
	// the one that it waits for.
	if schema == nil || !trusted[schema.System] || schema.Name == "sched_process_wait" {
		return n
	}
	for i := range schema.Fields {
		comm := &schema.Fields[i]
		if comm.Kind != event.Str || !ofRecord(comm) {
			continue
		}
		prefix, found := strings.CutSuffix(comm.Name, "comm")
		if !found || prefix != "" && prefix != "new" && !strings.HasSuffix(prefix, "_") {
			continue
		}
		if prefix == "new" { // task_rename has pid, oldcomm, newcomm
			prefix = ""
		}
		for j := range schema.Fields {
			if pid := &schema.Fields[j]; pid.Name == prefix+"pid" && pid.Kind == event.Int && ofRecord(pid) {
				n.pairs = append(n.pairs, pair{pid, comm})
			}
		}
	}
	return n
}

// ofRecord reports that a field is part of the record, not a sample member or a
// computed value.
func ofRecord(f *event.Field) bool {
	return f.Place == event.InRaw || f.Place == event.DataLoc || f.Place == event.RelLoc
}
