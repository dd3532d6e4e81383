// Package recording implements ppscript record and info. It writes live events to
// perf.data files, finds the programs and libraries that samples hit and copies
// them into perf's cache, and describes existing recordings.
package recording

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/text/unit"

	"golang.org/x/sys/unix"
)

// A Recording writes the content of rings to a perf.data file.
type Recording struct {
	src           *perf.Source
	file          *perfdata.Writer
	path          string
	samples, lost uint64
	batch         []event.Event
	changed       []byte       // buffer for a record whose id was replaced
	sampleType    uint64       // PERF_SAMPLE_* bits, the same for all events
	since         event.Time   // earlier samples are left out
	firsts        []event.Time // time of the oldest record of each ring; empty: not wanted
}

// Options has the file of a recording and how to write it.
type Options struct {
	Path     string
	Clock    perf.Clock // clock of the events' times
	Compress bool
}

// New creates the file for the events that src has opened.
func New(ctx context.Context, src *perf.Source, o Options) (*Recording, error) {
	opt := perfdata.WriteOptions{Compress: o.Compress, Cmdline: os.Args, Version: "ppscript"}
	if o.Clock == perf.ClockPerf {
		if at, wall, ok := perf.ReadClock(ctx, o.Clock); ok {
			opt.Clock = perfdata.Clock{At: at, Wall: wall}
		}
	}
	file, err := perfdata.CreateContext(ctx, o.Path, opt)
	if err != nil {
		return nil, err
	}
	r := &Recording{src: src, file: file, path: o.Path, batch: make([]event.Event, 256)}
	for _, opened := range src.Opened() {
		r.sampleType = opened.Attr.Sample_type
		info := perfdata.StreamInfo{Attr: opened.Attr, IDs: opened.IDs, Name: "dummy:u"}
		if opened.Stream != nil {
			info.Name, info.Schema = opened.Stream.Label, opened.Stream.Schema
		}
		if err := file.Add(info); err != nil {
			return nil, errors.Join(err, file.Finish())
		}
	}
	if err := file.Synthesize(nil); err != nil {
		return nil, errors.Join(err, file.Finish())
	}
	if r.sampleType&unix.PERF_SAMPLE_CGROUP != 0 {
		if err := cgroup.Each(kernel.Roots{}, file.Cgroup); err != nil {
			return nil, errors.Join(err, file.Finish())
		}
	}
	return r, nil
}

// Loop writes records until the target or ctx ends.
func (r *Recording) Loop(ctx context.Context) error {
	for {
		wait := 100 * time.Millisecond
		if r.src.Idle() {
			wait = time.Minute // the next record ends the wait
		}
		err := r.src.Poll(ctx, wait)
		over := errors.Is(err, io.EOF) || ctx.Err() != nil
		if err != nil && !over {
			return err
		}
		if ctx.Err() != nil {
			if err := r.src.Stop(); err != nil {
				return err
			}
			if err := r.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		if err := r.round(); err != nil || over {
			return err
		}
	}
}

// round writes all records that are in the rings now.
func (r *Recording) round() error {
	for index, ring := range r.src.Rings() {
		_, visible := ring.Bounds()
		for ring.Pos() < visible {
			n := ring.Read(r.batch, visible)
			for i := range r.batch[:n] {
				e := &r.batch[i]
				if index < len(r.firsts) && r.firsts[index] == 0 {
					r.firsts[index] = e.Time
				}
				if e.Kind == event.Sample && e.Time < r.since {
					continue
				}
				switch e.Kind {
				case event.Sample:
					r.samples++
				case event.Lost:
					r.lost += uint64(e.Count)
				}
				if e.Rec == nil {
					continue // made by the source, without a record of the kernel
				}
				rec := e.Rec
				if e.Kind == event.Lost && len(rec) == bareLost {
					rec = r.withID(e)
				} else {
					rec = r.sameID(rec)
				}
				if err := r.file.Write(rec); err != nil {
					return err
				}
			}
			ring.Release()
			if n == 0 {
				break
			}
		}
	}
	return r.file.FinishedRound()
}

// sameID replaces the id in a record of an event that was opened again after
// its CPU had been offline. The record gets the event's first id, since the
// file has the list of ids at its beginning.
func (r *Recording) sameID(rec []byte) []byte {
	if r.src.Gaps() == 0 || r.sampleType&unix.PERF_SAMPLE_IDENTIFIER == 0 || len(rec) < 16 {
		return rec
	}
	at := len(rec) - 8 // the id's place in a record other than a sample
	if binary.LittleEndian.Uint32(rec) == unix.PERF_RECORD_SAMPLE {
		at = 8
	}
	id := binary.LittleEndian.Uint64(rec[at:])
	same := r.src.SameID(id)
	if same == id {
		return rec
	}
	// The record is copied: the ring's memory is read-only.
	r.changed = append(r.changed[:0], rec...)
	binary.LittleEndian.PutUint64(r.changed[at:], same)
	return r.changed
}

// bareLost is the size of a LOST record that the source made from the kernel's
// final counts. It lacks the struct sample_id that perf requires in all records
// of a recording with ids.
const bareLost = 24

// withID appends a sample_id to a LOST record of this kind. The members are in
// the order of struct sample_id in perf_event.h.
func (r *Recording) withID(e *event.Event) []byte {
	rec := slices.Clone(e.Rec)
	le := binary.LittleEndian
	id := le.Uint64(rec[8:])
	for _, m := range []struct {
		bit   uint64
		value uint64
	}{{unix.PERF_SAMPLE_TID, 0}, {unix.PERF_SAMPLE_TIME, uint64(e.Time)}, {unix.PERF_SAMPLE_ID, id},
		{unix.PERF_SAMPLE_STREAM_ID, id}, {unix.PERF_SAMPLE_CPU, uint64(uint32(max(e.CPU, 0)))},
		{unix.PERF_SAMPLE_IDENTIFIER, id}} {
		if r.sampleType&m.bit != 0 {
			rec = le.AppendUint64(rec, m.value)
		}
	}
	le.PutUint16(rec[6:], uint16(len(rec)))
	return rec
}

// Identify adds the build-ids of the files that samples hit to the recording,
// and returns the ones for the cache. It does nothing for a pipe, which cannot
// be read again.
func (r *Recording) Identify() ([]perfdata.BuildID, error) {
	if st, err := os.Stat(r.path); err != nil || !st.Mode().IsRegular() {
		return nil, nil
	}
	if err := r.file.Flush(); err != nil {
		return nil, nil // Finish reports the error
	}
	h, err := hitsOf(r.path)
	if err != nil {
		return nil, err
	}
	ids := h.buildIDs()
	r.file.SetBuildIDs(ids)
	if !h.kernel {
		// No sample hit the kernel, so its symbols are not needed.
		ids = slices.DeleteFunc(slices.Clone(ids), func(b perfdata.BuildID) bool { return b.Kernel })
	}
	return ids, nil
}

// Finish completes the file. err is the error of the loop; an error of the file
// is joined to it.
func (r *Recording) Finish(err error) error {
	if last := r.file.Finish(); !errors.Is(err, last) {
		err = errors.Join(err, last)
	}
	return err
}

// Lost returns the number of missing events.
func (r *Recording) Lost() uint64 { return r.lost }

// Summary returns a line about how much was recorded and lost.
func (r *Recording) Summary() string {
	s := r.counts()
	if r.lost > 0 {
		s += fmt.Sprintf(", lost %d events: use larger rings, -m %d", r.lost, 4*r.pages())
	}
	return s
}

// counts returns the path, the number of samples and the size of the file as a
// text.
func (r *Recording) counts() string {
	path := r.path
	if path == "-" {
		path = "standard output"
	}
	s := fmt.Sprintf("%s: %d samples", path, r.samples)
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		s += ", " + unit.Size(st.Size())
	}
	return s
}
