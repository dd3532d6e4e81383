package symbol

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/jitdump"
	"ppscript/runtime/target/task"
)

// This file names code of processes whose JIT compiler writes a jitdump: see package jitdump. The
// function at an address depends on the time, so these frames are not cached by address.

// A spaceDump is the dump of a process, as far as it was read.
type spaceDump struct {
	*jitdump.Dump           // nil if there is none
	file          *dso.File // the file that the process has mapped
	shift         int64     // from the dump's clock to the clock of events, ns
	slack         int64     // uncertainty of shift and of records, ns
	till          event.Time
	round         int
	bytes         int
}

const (
	// littleDumps is the size of dumps, in bytes, up to which idle ones are
	// kept.
	littleDumps = 16 << 20
	// clockSlack is the uncertainty if the shift is computed from the record of the dump's
	// mapping, which has perf's clock, and the dump's header, which has the dump's clock.
	clockSlack = 10 * int64(time.Millisecond)
	// writeSlack is the longest time between the first run of code and its
	// record.
	writeSlack = int64(time.Millisecond)
)

// dump returns the dump of a process, read at least up to a time; nil if there is none.
func (s *Symbolizer) dump(sp *task.Space, when event.Time) *spaceDump {
	d, ok := s.dumps.Of(sp, s.now)
	if ok && d.round == s.jitRound && (d.Dump == nil || when <= d.till) {
		return d.orNil()
	}
	if !ok || d.Dump == nil {
		if d = s.findDump(sp); d == nil {
			d = &spaceDump{}
		}
	}
	d.round = s.jitRound
	if d.Dump != nil {
		d.till = s.upTo()
		files := s.opt.Maps.Files()
		files.Tell(d.file, d.Update(d.file, files.Expired))
	}
	if bytes := jitEntry + d.size(); !ok || bytes != d.bytes {
		d.bytes = bytes
		s.dumps.Drop(sp)
		s.dumps.Trim(maxJITs - 1)
		s.dumps.Hold(sp, d, bytes, s.now)
	}
	return d.orNil()
}

func (d *spaceDump) orNil() *spaceDump {
	if d.Dump == nil {
		return nil
	}
	return d
}

func (d *spaceDump) size() int {
	if d.Dump == nil {
		return 0
	}
	return d.Bytes()
}

// upTo is the time up to which a dump that is read now is complete.
func (s *Symbolizer) upTo() event.Time {
	if now, ok := perf.Monotonic(); ok && s.opt.Live {
		return now
	}
	return event.MaxTime
}

// findDump finds the dump that a process has mapped, the last one if there are several. Since the
// process itself has mapped the file, its content is as trustworthy as the process.
func (s *Symbolizer) findDump(sp *task.Space) *spaceDump {
	var found *task.Region
	for i, r := range sp.Regions() {
		if jitdump.IsMarker(r.Name) && r.File != nil && (found == nil || r.From >= found.From) {
			found = &sp.Regions()[i]
		}
	}
	if found == nil {
		return nil
	}
	d := &spaceDump{Dump: &jitdump.Dump{}, file: found.File, slack: writeSlack}
	if !s.opt.Live && !s.opt.Monotonic {
		// The header is written when the file is mapped.
		files := s.opt.Maps.Files()
		files.Tell(d.file, d.Update(d.file, files.Expired))
		if made, ok := d.MadeAt(); ok && found.From > 0 {
			d.shift, d.slack = int64(found.From)-made, clockSlack
		}
	}
	return d
}

// dumped names an address by the dump of its process.
func (s *Symbolizer) dumped(sp *task.Space, addr uint64, when event.Time, call, plain bool) (Frame, bool) {
	d := s.dump(sp, when)
	if d == nil {
		return Frame{}, false
	}
	fn, ok := d.Find(addr-back(call), int64(when)-d.shift, d.slack)
	if !ok {
		return Frame{}, false
	}
	f := Frame{Offset: addr - fn.Addr, Since: fn.From + 1}
	f.Symbol, f.DSO = s.compilerName(fn.Name)
	if s.opt.lines() && !plain {
		f.File, f.Line = d.Line(fn, addr-back(call))
	}
	return f, true
}

// Changes finds out whether the code at addresses of a process may have been replaced since the
// last call.
type Changes struct {
	symbols *Symbolizer
	// since has the begin times of the code at the addresses of each process.
	since map[*task.Space]map[uint64]int64
	size  int // processes and addresses in since
}

// NewChanges makes an empty Changes.
func (s *Symbolizer) NewChanges() *Changes {
	return &Changes{symbols: s, since: map[*task.Space]map[uint64]int64{}}
}

// mostChanges bounds the remembered addresses.
const mostChanges = 1 << 16

// See checks the user addresses of a stack. It returns true if one of them had other code before,
// or may have had: addresses are not remembered until a dump has used some address twice, or after
// there were too many.
//
// Fast path: processes without a dump, or whose dump has used no address twice, cost one look-up.
func (c *Changes) See(pid int32, when event.Time, chain []uint64) (changed bool) {
	s := c.symbols
	if s.opt.Maps == nil || s.opt.Maps.Marked() == 0 {
		return false
	}
	sp := s.opt.Maps.Space(pid, when)
	if sp == nil {
		return false
	}
	d := s.dump(sp, when)
	if d == nil || !d.Reused {
		return false
	}
	s.now = max(s.now, when)
	if c.size > mostChanges {
		clear(c.since)
		c.size = 0
	}
	since, known := c.since[sp]
	if !known {
		since, changed = map[uint64]int64{}, true
		c.since[sp] = since
		c.size++
	}
	for _, addr := range chain {
		if addr >= kernelHalf {
			continue
		}
		f, ok := d.Find(addr, int64(when)-d.shift, d.slack)
		if !ok {
			continue
		}
		before, known := since[addr]
		if !known {
			c.size++
		}
		if known && before != f.From {
			changed = true
		}
		since[addr] = f.From
	}
	return changed
}
