package load

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/operator/agg"
	"ppscript/runtime/record/ringbuf"
)

// This file lets a budget decide which events count: one of so many by chance, or none for a
// while, in which the programs are not called at all.

// A Budget is a Run whose events have weights: Part.Weighed of package bpf.
type Budget struct{ *Run }

// Places in the value of WeightMap, of which the first is all where events count each by itself. None counts
// before the run begins and after its end, whether there is a budget or not.
const (
	WeightNow     = 0  // u64: the number of events, or keys, that a counted one stands for; 0: none counts
	WeightSalt    = 8  // u64: of the hashes of keys
	WeightChanged = 16 // u64: when it changed last
	// WeightSince is by level: since when no key counted for more than 1<<level; it is in the
	// future while they do.
	WeightSince  = 24
	WeightLevels = 11
	WeightSize   = WeightSince + 8*WeightLevels
)

// weights has the weights with which keys counted so far.
type weights struct {
	salt, changed uint64
	since         [WeightLevels]uint64
	closed        bool // none counts
}

// Programs returns the programs of the run.
func (r Budget) Programs() []Program { return r.im.Programs }

// ByKey reports that a budget leaves out whole keys, not single events.
func (r Budget) ByKey() bool { return r.words(WeightMap.Of()).value > 1 }

// Weigh makes each counted event, or each counted key, stand for n, a power of two; with 0 none
// counts.
func (r Budget) Weigh(n uint64) error {
	m := r.words(WeightMap.Of())
	value := []uint64{n}
	if r.ByKey() {
		value = r.state.weights.next(n, monotonic())
	}
	if err := m.update(make([]byte, 4), value); err != nil {
		return fmt.Errorf("set the share of events that count: %w", err)
	}
	return nil
}

// monotonic is the time on the clock of programs.
func monotonic() uint64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return uint64(t.Nano())
}

// next is the value of WeightMap from now on.
func (w *weights) next(n, now uint64) []uint64 {
	for w.salt == 0 {
		w.salt = rand.Uint64()
	}
	if n == 0 {
		w.closed = true
	} else {
		w.changed = now
		for i := range w.since {
			switch {
			case n > 1<<i:
				w.since[i] = math.MaxUint64
			case w.closed, w.since[i] == math.MaxUint64:
				w.since[i] = now
			}
		}
		w.closed = false
	}
	return append([]uint64{n, w.salt, w.changed}, w.since[:]...)
}

// Hits counts the hits of programs so far, of which a budget may have left some out.
type Hits struct {
	N           uint64
	Timed, Time uint64 // hits that were timed: their number and total time, ns
	Toll        uint64 // cost of all hits outside of the programs, ns
	CPUs        []CPUHits
	Paces       []Pace // of each program on each CPU, which is the inner index
	// Offered is the number of events of all keys while a budget leaves out some keys, and Stood
	// the number that the counted events stand for. Halves is the number of events whose partner
	// was not observed.
	Offered, Represented, Halves uint64
}

// CPUHits counts the hits on a CPU.
type CPUHits struct{ N, Toll uint64 }

// A Pace tells how fast hits of a program came: how many did, how many were timed, and the sum of their
// StatPace.
type Pace struct{ N, Timed, Sum uint64 }

// Ran estimates for how long ran on each CPU what made the hits since an earlier reading, ns. A
// thread that makes some all the time makes none while others have its CPU. So hits are taken to have
// come as fast as those did among which they were; of programs that are called by turns the one with
// the longest time counts.
func (h *Hits) Ran(since *Hits) []float64 {
	list := make([]float64, len(h.CPUs))
	for i, p := range h.Paces {
		var before Pace
		if i < len(since.Paces) {
			before = since.Paces[i]
		}
		timed, sum := float64(p.Timed-before.Timed), float64(p.Sum-before.Sum)
		if timed > 0 && sum > 0 {
			each := PaceOne * timed / sum / Timed // ns from one hit to the next
			cpu := i % len(h.CPUs)
			list[cpu] = max(list[cpu], float64(p.N-before.N)*each)
		}
	}
	return list
}

// Hits counts the hits of all programs. toll is the cost of a hit outside of a
// program.
func (r Budget) Hits(toll func(p *Program) time.Duration) (h Hits, err error) {
	n := r.im.stats()
	h.CPUs = make([]CPUHits, r.cpus)
	for i := range r.im.Programs {
		p := &r.im.Programs[i]
		if p.Event < 0 || r.maps[StatsMap.Of(p.Event)] == nil {
			continue
		}
		each := uint64(toll(p))
		err = errors.Join(err, r.words(StatsMap.Of(p.Event)).each(func(_ int, values []uint64) {
			for cpu := range h.CPUs {
				of := values[cpu*n:]
				h.N += of[StatHits]
				h.Timed += of[StatTimed]
				h.Time += of[StatTime]
				h.Toll += each * of[StatHits]
				h.CPUs[cpu].N += of[StatHits]
				h.Paces = append(h.Paces, Pace{of[StatHits], of[StatTimed], of[StatPace]})
				h.Offered += of[StatOffered]
				h.Represented += of[StatStood]
				h.Halves += of[StatUnmatched] + of[StatEndsAlone] + of[StatBroken]
				h.CPUs[cpu].Toll += each * of[StatHits]
			}
		}))
	}
	if err != nil {
		err = fmt.Errorf("read hits: %w", err)
	}
	return h, err
}

// A bell is the buffer with whose records programs wake the thread that waits.
type bell struct {
	ringbuf.Pages
	read uint64 // up to where
}

// Bell is a file descriptor that becomes readable when an alarm rings. The Run owns it.
func (r Budget) Bell() (fd int, err error) {
	m := r.maps[BellMap.Of()]
	if r.bell.Pages, err = ringbuf.Map(m.FD(), int(m.MaxEntries())); err != nil {
		return -1, fmt.Errorf("map the bell of programs: %w", err)
	}
	return m.FD(), nil
}

// Alarm makes programs ring the bell after a number of hits; with 0 they never do. Each program
// counts hits in groups on each CPU, so that a small number rings at once.
func (r Budget) Alarm(hits uint64) error {
	words := []uint64{(hits + Timed - 1) / Timed}
	if err := r.words(AlarmMap.Of()).update(make([]byte, 4), words); err != nil {
		return fmt.Errorf("set the alarm of programs: %w", err)
	}
	return nil
}

// Hears reports that a thread waits for the bell.
func (r Budget) Hears() bool { return r.bell.Shared != nil }

// Rang reports that the bell rang since the last call.
func (r Budget) Rang() bool {
	if r.bell.Shared == nil {
		return false
	}
	head := r.bell.Head()
	rang := head != r.bell.read
	r.bell.read = head
	r.bell.Consume(head)
	return rang
}

// Pause detaches the programs of events. Their counts can still be read. Programs that follow
// the target stay attached.
func (r Budget) Pause() error {
	if r.state.stopped || r.state.paused {
		return nil
	}
	r.state.paused = true
	r.missing.end()
	var errs []error
	for _, detach := range slices.Backward(r.links[r.state.own:]) {
		errs = append(errs, detach())
	}
	r.links = r.links[:r.state.own]
	return errors.Join(errs...)
}

// Resume attaches them again.
func (r Budget) Resume() error {
	if r.state.stopped || !r.state.paused {
		return nil
	}
	clear(r.state.together)
	r.state.together = sessions(r.Run, r.im.Target)
	if err := attachAll(r.Run, r.im.Target, func(p *Program) bool { return p.Event >= 0 }); err != nil {
		return err
	}
	r.state.paused = false
	return nil
}

// clusters returns the sums over groups of keys for an argument, in halves:
// weights are 2w-1 there.
func (a *Arg) clusters(row []uint64) (k agg.KeySpread) {
	for i := range k.N {
		k.N[i] = float64(int64(row[a.Spread/8+i])) / 2
		if a.Sum >= 0 {
			k.Sum[i] = float64(int64(row[a.Spread/8+agg.Clusters+i])) / 2
		}
	}
	return k
}

// spread returns the variance of an argument's numbers.
func (a *Arg) spread(row []uint64) (s agg.Spread) {
	s.N = float64(row[(a.Spread+SpreadN)/8])
	if a.Sum >= 0 {
		s.Sum = float64(row[(a.Spread+SpreadLow)/8]) +
			float64(row[(a.Spread+SpreadHigh)/8])*(1<<(2*SpreadShift))
	}
	return s
}
