package session

import (
	"context"
	"encoding/hex"
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
	"ppscript/runtime/reading"
)

// A sideReader is a delivery that takes the records which are not samples.
type sideReader interface {
	side(e *event.Event)
}

// kernelRecords delivers the records about the kernel itself, as events.
type kernelRecords struct {
	undelivered
	op     *plan.RecordSet
	symbol func(addr uint64) string
	seen   func() // counts an event
}

func (d *kernelRecords) begin(_ context.Context, op plan.Running) error {
	d.op = op.(*plan.RecordSet)
	return nil
}

// side makes an event of a record.
func (d *kernelRecords) side(e *event.Event) {
	slots := make([]event.Value, reading.RecordSlots)
	fill := func(kind, name string, id, addr, size uint64) {
		slots[reading.RecordKind], slots[reading.RecordName] = event.StrOf(kind), event.StrOf(name)
		slots[reading.RecordID], slots[reading.RecordAddr] = event.IntOf(int64(id)), event.IntOf(int64(addr))
		slots[reading.RecordSize] = event.IntOf(int64(size))
		slots[reading.RecordOld], slots[reading.RecordNew] = event.StrOf(""), event.StrOf("")
	}
	if k, ok := perf.DecodeKsymbol(e); ok {
		kind := "symbol"
		if k.Unregister {
			kind = "symbol-gone"
		}
		fill(kind, k.Name, 0, k.Addr, uint64(k.Len))
	} else if p, ok := perf.DecodeBPF(e); ok {
		kind := "bpf-load"
		if p.Type == 2 {
			kind = "bpf-unload"
		}
		fill(kind, hex.EncodeToString(p.Tag[:]), uint64(p.ID), 0, 0)
	} else if c, ok := perf.DecodeCgroup(e); ok {
		fill("cgroup", c.Path, c.ID, 0, 0)
	} else if p, ok := perf.DecodeTextPoke(e); ok {
		fill("text-poke", d.symbol(p.Addr), 0, p.Addr,
			uint64(max(len(p.Old), len(p.New))))
		slots[reading.RecordOld] = event.StrOf(spaced(p.Old))
		slots[reading.RecordNew] = event.StrOf(spaced(p.New))
	} else {
		return
	}
	made := event.Event{Stream: d.op.Stream, Time: e.Time, PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring,
		Derived: &event.Derived{Slots: slots}}
	d.seen()
	d.op.Sink().Events([]*event.Event{&made})
}

// spaced is code as disassemblers show it: 0f 1f 44 00 00.
func spaced(code []byte) string { return fmt.Sprintf("% x", code) }
