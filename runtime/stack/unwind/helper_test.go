package unwind

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/target/task"
)

// A replay is a recording with the mappings and files that walking its stacks needs.
type replay struct {
	maps   *task.Mappings
	unwind *Unwinder
	syms   *symbol.Symbolizer
	events []event.Event // kept samples
	side   []event.Event // other records
}

// load reads a recording of this machine.
func load(t testing.TB, path string) *replay {
	t.Helper()
	f, err := perfdata.Open(path, perfdata.Options{Ordered: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	files := dso.NewStore(dso.Options{NoProc: true, SameKernel: true})
	r := &replay{maps: task.NewMappings(task.MappingsOptions{NoProc: true, Files: files})}
	t.Cleanup(func() { r.maps.Close() })
	ctx := context.Background()
	batch := make([]event.Event, 64)
	for done := false; !done; {
		if err := f.Poll(ctx, time.Second); errors.Is(err, io.EOF) {
			done = true
		} else if err != nil {
			t.Fatal(err)
		}
		for _, ring := range f.Rings() {
			_, visible := ring.Bounds()
			for {
				n := ring.Read(batch, visible)
				for i := range batch[:n] {
					if batch[i].Kind != event.Sample {
						r.maps.Record(&batch[i])
						var side event.Event
						batch[i].Keep(&side)
						r.side = append(r.side, side)
						continue
					}
					var e event.Event
					batch[i].Keep(&e)
					r.events = append(r.events, e)
				}
				ring.Release()
				if n < len(batch) {
					break
				}
			}
		}
	}
	r.unwind = New(Options{Maps: r.maps})
	r.syms = symbol.New(symbol.Options{Maps: r.maps})
	return r
}

// names are the functions of a stack, innermost first.
func (r *replay) names(e *event.Event, addrs []uint64) []string {
	var names []string
	for i, addr := range addrs {
		frames := r.syms.Resolve(e.PID, e.TID, addr, e.Time)
		if i > 0 {
			frames = r.syms.ResolveReturn(e.PID, e.TID, addr, e.Time)
		}
		names = append(names, frames[0].Symbol)
	}
	return names
}
