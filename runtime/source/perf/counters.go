package perf

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// Counters are events that are only counted, without rings and records, at
// almost no cost. The members of Config about records have no effect. A
// Counters is used by one goroutine.
type Counters struct {
	src   Source // has the target and the workload, and no rings
	order []int  // indices in src.open.fds, in the order of Read's results
}

// A Count is the value of one counter at one moment.
type Count struct {
	Stream  *event.Stream
	Event   int // index in Config.Events
	CPU     int // -1 if the counter follows its thread
	TID     int // -1 if it counts a CPU or a cgroup
	Value   uint64
	Enabled time.Duration // since it was enabled
	Running time.Duration // less than Enabled if a hardware counter was shared
}

// OpenCounters opens the events of cfg on its target and starts them. On an
// error nothing stays open.
func OpenCounters(ctx context.Context, cfg Config) (*Counters, error) {
	cfg.SideBand = SideBand{}
	c := &Counters{src: Source{cfg: cfg}}
	if err := c.src.cfg.check(); err != nil {
		return nil, err
	}
	if err := c.src.start(ctx, true); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.order = make([]int, len(c.src.open.fds))
	for i := range c.order {
		c.order[i] = i
	}
	fds := c.src.open.fds
	slices.SortStableFunc(c.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(fds[a].stream, fds[b].stream),
			cmp.Compare(fds[a].place.pid, fds[b].place.pid),
			cmp.Compare(fds[a].place.cpu, fds[b].place.cpu))
	})
	return c, nil
}

// Streams lists the events that opened; Count.Stream points to them.
func (c *Counters) Streams() []*event.Stream { return c.src.streams }

// Read appends the present value of every counter to dst, by stream, thread and
// CPU; counters of CPUs that came later follow. An inherited counter includes the
// children, running or ended.
func (c *Counters) Read(dst []Count) ([]Count, error) {
	var b [24]byte // value, time enabled, time running
	for i := len(c.order); i < len(c.src.open.fds); i++ {
		c.order = append(c.order, i) // counters of CPUs that came later
	}
	for _, i := range c.order {
		f := &c.src.open.fds[i]
		n, err := unix.Read(f.fd, b[:])
		switch {
		case err != nil:
			return dst, fmt.Errorf("read counter %s: %w", c.src.open.nameOf(f.stream), err)
		case n == 0:
			// The kernel stops pinned events for which no hardware counter was
			// free.
			return dst, diag.Errorf(diag.Run, "read counter", c.src.open.nameOf(f.stream),
				"the kernel stopped it")
		case n != len(b):
			return dst, fmt.Errorf("read counter %s: got %d bytes, want %d", c.src.open.nameOf(f.stream),
				n, len(b))
		}
		ct := Count{
			Stream:  c.src.byEvent[f.stream],
			Event:   f.stream,
			CPU:     f.place.cpu,
			TID:     f.place.pid,
			Value:   f.base[0] + binary.LittleEndian.Uint64(b[0:]),
			Enabled: time.Duration(f.base[1] + binary.LittleEndian.Uint64(b[8:])),
			Running: time.Duration(f.base[2] + binary.LittleEndian.Uint64(b[16:])),
		}
		if f.place.flags != 0 {
			ct.TID = -1
		}
		dst = append(dst, ct)
	}
	return dst, nil
}

// Wait sleeps for d. It returns earlier with io.EOF if the targets end, and
// with ctx's error if ctx is done; the counters can still be read.
func (c *Counters) Wait(ctx context.Context, d time.Duration) error { return c.src.Poll(ctx, d) }

// Wake is Source.Wake.
func (c *Counters) Wake() { c.src.Wake() }

// Follow opens the counters on CPUs that came online. Wait calls it, too.
func (c *Counters) Follow() { c.src.follow(time.Now()) }

// Gaps is Source.Gaps.
func (c *Counters) Gaps() uint64 { return c.src.Gaps() }

// Stop disables the counters; their values stay.
func (c *Counters) Stop() error { return c.src.Stop() }

// WorkloadStatus is Source.WorkloadStatus.
func (c *Counters) WorkloadStatus() (*os.ProcessState, bool) { return c.src.WorkloadStatus() }

// Describe returns a line for each attached event, with its target.
func (c *Counters) Describe() []string { return c.src.Describe() }

// Close ends and closes everything.
func (c *Counters) Close() error { return c.src.Close() }
