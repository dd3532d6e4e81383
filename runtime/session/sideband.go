package session

import (
	"context"
	"errors"
	"io"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/source/perf"
)

// This file reads the records about processes beside a run whose events stay inside the kernel: no samples
// come, but naming the addresses that programs found takes the maps of processes, also of processes that have
// ended. The records are on the clock of programs.

// A sideBand is the records about all processes, or about the observed ones. A nil one has none.
type sideBand struct {
	src    *perf.Source
	feeder order.Feeder
	over   bool
}

// openSideBand begins to read the records about what processes map, and, if it is asked to, about cgroups.
// spool is the room for what nobody has read yet, in bytes.
func openSideBand(ctx context.Context, of *perf.Target, cgroups bool, spool int,
	loop *perf.Watch) (*sideBand, error) {
	var target perf.Target
	if len(of.PIDs) > 0 { // what others map is of no use, and wakes
		target = perf.Target{PIDs: of.PIDs, Inherit: perf.Yes}
	}
	src, err := perf.Open(ctx, perf.Config{
		Target:   target,
		SideBand: perf.SideBand{Comm: true, Task: true, Mmap: true, Ksymbol: true, Cgroup: cgroups},
		Members:  []event.Member{}, Clock: perf.ClockMonotonic, Spool: spool,
	})
	if err != nil {
		return nil, err
	}
	if err := loop.Beside(src); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return sideBandOf(src), nil
}

// sideBandOf is the records of a source, which it owns from then on.
func sideBandOf(src *perf.Source) *sideBand { return &sideBand{src: src, feeder: order.NewMerge(src)} }

// round brings the records that there are to sink; final are the last ones.
func (b *sideBand) round(sink func([]*event.Event), final bool) error {
	if b == nil || b.over {
		return nil
	}
	if b.over = final; final {
		if err := b.src.Stop(); err != nil {
			return err
		}
	}
	if err := b.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	b.feeder.Round(sink, final)
	return nil
}

// close closes the source.
func (b *sideBand) close() error {
	if b == nil {
		return nil
	}
	return b.src.Close()
}
