package session

import (
	"context"
	"errors"
	"io"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/source/perf"
)

// This file reads the side records about processes if programs in the kernel process all events
// of a run, so that no samples come. To name the addresses that programs found, the mappings of
// processes are needed, also of ended ones. The records have times of the programs' clock.

// A sideBand reads the side records about all processes, or about the observed ones. A nil
// sideBand is valid and reads nothing.
type sideBand struct {
	src    *perf.Source
	feeder order.Feeder
	over   bool
}

// openSideBand opens the side records about names and mappings of processes, and about cgroups if
// cgroups is set. spool is the memory for records that are not read yet, in bytes.
func openSideBand(ctx context.Context, of *perf.Target, cgroups bool, spool int,
	loop *perf.Watch) (*sideBand, error) {
	var target perf.Target
	if len(of.PIDs) > 0 { // mappings of other processes are useless, and would wake the loop
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

// sideBandOf makes the sideBand of a source, and owns the source from then on.
func sideBandOf(src *perf.Source) *sideBand { return &sideBand{src: src, feeder: order.NewMerge(src)} }

// round passes the available records to sink. final says that it is the last
// round.
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
