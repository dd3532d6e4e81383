package reading

import (
	"encoding/hex"
	"fmt"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// Record converts a side record of the kernel to an event of a stream with RecordSchema; nil
// for records of other kinds. symbol returns the name of an address.
func Record(st *event.Stream, e *event.Event, symbol func(addr uint64) string) *event.Event {
	slots := make([]event.Value, RecordSlots)
	fill := func(kind, name string, id, addr, size uint64) {
		slots[RecordKind], slots[RecordName] = event.StrOf(kind), event.StrOf(name)
		slots[RecordID], slots[RecordAddr] = event.IntOf(int64(id)), event.IntOf(int64(addr))
		slots[RecordSize] = event.IntOf(int64(size))
		slots[RecordOld], slots[RecordNew] = event.StrOf(""), event.StrOf("")
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
		fill("text-poke", symbol(p.Addr), 0, p.Addr, uint64(max(len(p.Old), len(p.New))))
		slots[RecordOld] = event.StrOf(spaced(p.Old))
		slots[RecordNew] = event.StrOf(spaced(p.New))
	} else {
		return nil
	}
	return &event.Event{Stream: st, Time: e.Time, PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring,
		Derived: &event.Derived{Slots: slots}}
}

// spaced formats machine code like a disassembler: 0f 1f 44 00 00.
func spaced(code []byte) string { return fmt.Sprintf("% x", code) }
