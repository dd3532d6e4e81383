package task

import (
	"strings"

	"ppscript/runtime/event"
)

// This file learns names from the fields of events. Scheduler and task events
// carry the comm of a thread beside its pid: the most exact source, because
// it was read when the event happened. Pairs are found by the kernel's
// spelling: X_comm belongs to X_pid, comm to pid. A comm without such a pid
// (oldcomm) is left alone. Only systems that are known to mean a thread by
// pid are trusted: elsewhere it may be the number in a namespace, or the
// fields of a probe that a user made up.

var trusted = map[string]bool{"sched": true, "task": true, "signal": true, "oom": true, "cgroup": true}

// commFields are the pairs of fields of a schema that name a thread.
type commFields struct {
	pairs []pair
}

type pair struct{ pid, comm *event.Field }

// observe learns the names that a sample's fields tell. Events of most
// schemas tell none and cost one comparison.
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

// Tells returns the fields of a schema that tell names: of those that want names,
// a caller that reads only some fields of a record should read these too.
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

// ofRecord tells fields of the record from facts and computed values.
func ofRecord(f *event.Field) bool {
	return f.Place == event.InRaw || f.Place == event.DataLoc || f.Place == event.RelLoc
}
