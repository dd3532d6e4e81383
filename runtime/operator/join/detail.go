package join

import (
	"bytes"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/result"
)

// This file makes the listing of a pair: it walks the timeline, selects events,
// and notes the states of the task that the pair is about. It tracks the task's
// CPU, where it runs or was woken or moved to, since the events on that CPU
// show why the task waits.

// A looker makes listings, one at a time; its memory is used again.
type looker struct {
	infos []*eventInfo // by stream

	sel        *Select
	start, end *event.Event
	task       int64 // the thread that is followed
	cpu        int32 // where it is, -1 while it sleeps
	since      []running
	key        soughtKey
	frame      expr.Frame
	listing    listing
}

// A soughtKey is the key of the pair that is listed.
type soughtKey struct {
	num     int64
	bytes   []byte
	isInt   bool
	scratch []byte // keys of events to compare with
}

// A listing is the state of the listing that is being made.
type listing struct {
	lines  []result.DetailLine
	phase  result.DetailPart
	last   event.Time // of the event before, shown or hidden
	hidden int
	late   result.DetailLine // the last hidden one
}

// running maps a CPU to the task that runs there, according to the events of
// this listing.
type running struct {
	pid   int64
	since event.Time
	seen  bool
}

func (l *looker) info(e *event.Event) *eventInfo {
	i := e.Stream.Index
	for i >= len(l.infos) {
		l.infos = append(l.infos, nil)
	}
	if l.infos[i] == nil {
		l.infos[i] = infoOf(e.Stream.Schema)
	}
	return l.infos[i]
}

// list fills d.Lines.
func (l *looker) list(d *result.Detail, p *event.Event, sel *Select, t *Timeline) {
	l.sel, l.start, l.end = sel, d.Start, d.End
	l.listing.lines = d.Lines
	l.listing.phase, l.listing.hidden, l.listing.last = result.Previous, 0, 0
	l.since = l.since[:0]
	l.cpu = d.Start.CPU
	l.pairKey()
	l.task = int64(d.Start.TID)
	if sel.KeyIsTask && l.key.isInt {
		l.task = l.key.num
	}
	until := d.Until
	if d.End != nil {
		until = d.End.Time
	}
	if t.droppedAt >= d.Start.Time-event.Time(sel.Before) && t.droppedAt > 0 {
		d.Evicted = result.Evicted{Some: true, Since: t.droppedAt + 1, Overwritten: t.filled.source != nil}
	}
	t.between(d.Start.Time-event.Time(sel.Before), until+event.Time(sel.After), func(e *event.Event) bool {
		switch {
		case l.listing.phase == result.Previous && same(e, d.Start):
			l.follow(e, nil)
			l.listing.phase, l.listing.last = result.Between, e.Time
			return true
		case l.listing.phase == result.Previous && e.Time > d.Start.Time:
			// The start itself has been evicted.
			l.listing.phase, l.listing.last = result.Between, d.Start.Time
		case l.listing.phase == result.Between && d.End != nil && same(e, d.End):
			l.closeHidden(e.Time)
			l.listing.phase = result.After
			return true
		case l.listing.phase == result.Between && e.Time > until:
			l.closeHidden(until)
			l.listing.phase = result.After
		}
		l.event(e)
		return true
	})
	if l.listing.phase == result.Between {
		l.closeHidden(until)
	}
	d.Lines = l.listing.lines
	for i := range d.Lines {
		e := d.Lines[i].Event
		switch {
		case e == nil:
		case d.Lines[i].Part == result.Previous && d.Before == 0:
			d.Before = int64(d.Start.Time - e.Time)
		case d.Lines[i].Part == result.After:
			d.After = int64(e.Time - until)
		}
	}
}

// kernelHead is how many bytes of a record the common fields of tracepoints take.
const kernelHead = 8

// same reports that a and b are copies of one event.
func same(a, b *event.Event) bool {
	if a.Time != b.Time || a.Stream != b.Stream || a.CPU != b.CPU || a.TID != b.TID {
		return false
	}
	// A waiting event may have kept only the beginning of its record.
	n := min(len(a.Raw), len(b.Raw))
	if a.Ring < 0 && n >= kernelHead {
		// A program kept this copy: it has no ring, and its common fields are from
		// the time when it was kept. They may differ from those of the sent pair.
		return sameFields(a, b, n)
	}
	return a.Ring == b.Ring && bytes.Equal(a.Raw[:n], b.Raw[:n])
}

// sameFields compares the fields in the first n bytes of two records, without the common
// fields. Texts of variable length may be at different offsets, and may be cut.
func sameFields(a, b *event.Event, n int) bool {
	for i := range a.Stream.Schema.Fields {
		f := &a.Stream.Schema.Fields[i]
		if f.Place != event.InRaw || f.Offset < kernelHead {
			continue
		}
		if end := min(f.Offset+f.Size, n); f.Offset < end &&
			!bytes.Equal(a.Raw[f.Offset:end], b.Raw[f.Offset:end]) {
			return false
		}
	}
	return true
}

// event takes one event into the listing, if it is selected.
func (l *looker) event(e *event.Event) {
	line := result.DetailLine{Part: l.listing.phase, Event: e}
	in := l.info(e)
	was := l.cpu // the CPU where the task was counts too
	if l.listing.phase != result.Previous {
		l.follow(e, &line)
	}
	l.ran(e, in, &line)
	if line.State == "" && !l.selected(e, in, was) {
		return
	}
	if l.listing.phase != result.Between || l.sel.HideNS <= 0 {
		l.listing.lines = append(l.listing.lines, line)
		return
	}
	gap := int64(e.Time - l.listing.last)
	l.listing.last = e.Time
	if gap < l.sel.HideNS {
		l.listing.hidden++
		l.listing.late = line
		return
	}
	l.reveal()
	l.listing.lines = append(l.listing.lines, line)
}

// reveal ends a run of hidden events. It shows the last one if the next event
// came long after it.
func (l *looker) reveal() {
	if l.listing.hidden > 1 {
		l.listing.lines = append(l.listing.lines, result.DetailLine{
			Part:   result.Between,
			Hidden: l.listing.hidden - 1,
		})
	}
	if l.listing.hidden > 0 {
		l.listing.lines = append(l.listing.lines, l.listing.late)
	}
	l.listing.hidden = 0
}

func (l *looker) closeHidden(t event.Time) {
	if l.listing.hidden > 0 && int64(t-l.listing.last) < l.sel.HideNS {
		l.listing.lines = append(l.listing.lines, result.DetailLine{Part: result.Between,
			Hidden: l.listing.hidden})
		l.listing.hidden = 0
		return
	}
	l.reveal()
}

// follow updates the CPU and the state of the followed task.
func (l *looker) follow(e *event.Event, line *result.DetailLine) {
	state := ""
	in := l.info(e)
	switch in.kind {
	case wakeupEvent:
		if intOf(in.pid, e) == l.task {
			l.cpu, state = int32(intOf(in.cpu, e)), "wakeup"
		}
	case migrateEvent:
		if intOf(in.pid, e) == l.task {
			l.cpu, state = int32(intOf(in.cpu, e)), "migrate"
		}
	case switchEvent:
		switch l.task {
		case intOf(in.next, e):
			l.cpu, state = e.CPU, "running"
		case intOf(in.prev, e):
			l.cpu, state = leaves(intOf(in.state, e), e.CPU)
		}
	}
	if state == "" && l.task > 0 && int64(e.TID) == l.task && in.kind != switchEvent {
		l.cpu = e.CPU // it runs where it does something
	}
	if line != nil && l.task > 0 {
		line.State = state
	}
}

// leaves says how a task leaves its CPU, by prev_state of sched_switch: 0, or
// TASK_REPORT_MAX (0x100 since 4.14) if it was preempted.
func leaves(state int64, cpu int32) (int32, string) {
	switch {
	case state == 0 || state == 0x100:
		return cpu, "preempt"
	case state&1 != 0: // TASK_INTERRUPTIBLE
		return -1, "sleeping"
	}
	return -1, "waiting"
}

// ran notes how long a task ran before it left its CPU, if the begin is in the
// listing.
func (l *looker) ran(e *event.Event, in *eventInfo, line *result.DetailLine) {
	if in.kind != switchEvent || e.CPU < 0 || e.CPU >= maxCPU {
		return
	}
	for int(e.CPU) >= len(l.since) {
		l.since = append(l.since, running{})
	}
	r := &l.since[e.CPU]
	if r.seen && r.pid == intOf(in.prev, e) &&
		(e.CPU == l.cpu || e.CPU == l.start.CPU || l.end != nil && e.CPU == l.end.CPU) {
		line.Ran, line.RanNS = true, int64(e.Time-r.since)
		if in.comm != nil {
			line.RanComm = in.comm.Text(e)
		}
	}
	*r = running{pid: intOf(in.next, e), since: e.Time, seen: true}
}

// selected applies the Same tests.
func (l *looker) selected(e *event.Event, in *eventInfo, was int32) bool {
	s := l.sel
	if !s.SameCPU && !s.SamePID && !s.SameTID && !s.SameKey {
		return true
	}
	if s.SameCPU && (l.onCPU(e, in, l.cpu) || was != l.cpu && l.onCPU(e, in, was)) {
		return true
	}
	if s.SameKey && l.hasKey(e) {
		return true
	}
	if s.KeyIsTask {
		return (s.SameTID || s.SamePID) && l.task > 0 &&
			(int64(e.TID) == l.task || names(in.tasks, e, l.task))
	}
	for _, p := range [2]*event.Event{l.start, l.end} {
		if p == nil || s.OnlyStart && !s.OnlyEnd && p == l.end || s.OnlyEnd && !s.OnlyStart && p == l.start {
			continue
		}
		switch {
		case s.SameCPU && l.onCPU(e, in, p.CPU),
			s.SamePID && p.PID > 0 && (e.PID == p.PID || names(in.tasks, e, int64(p.PID))),
			s.SameTID && p.TID > 0 && (e.TID == p.TID || names(in.tasks, e, int64(p.TID))):
			return true
		}
	}
	return false
}

func (l *looker) onCPU(e *event.Event, in *eventInfo, cpu int32) bool {
	return cpu >= 0 && (e.CPU == cpu || names(in.cpus, e, int64(cpu)))
}

// pairKey evaluates the key of the pair. It prefers the end, since of the start
// only a part of the record may be kept.
func (l *looker) pairKey() {
	l.key.isInt, l.key.bytes = false, l.key.bytes[:0]
	e := l.end
	if e == nil {
		e = l.start
	}
	p := l.program(e)
	if p == nil {
		return
	}
	l.frame.Reset(e)
	if p.Type.Numeric() {
		l.key.isInt, l.key.num = true, p.Int(&l.frame)
		return
	}
	l.key.bytes = key.Append(l.key.bytes, p, &l.frame)
}

func (l *looker) program(e *event.Event) *expr.Program {
	if i := e.Stream.Index; i < len(l.sel.Keys) {
		return l.sel.Keys[i]
	}
	return nil
}

func (l *looker) hasKey(e *event.Event) bool {
	p := l.program(e)
	if p == nil || p.Type.Numeric() != l.key.isInt {
		return false
	}
	l.frame.Reset(e)
	if l.key.isInt {
		return p.Int(&l.frame) == l.key.num && l.frame.Err == nil
	}
	l.key.scratch = key.Append(l.key.scratch[:0], p, &l.frame)
	return l.frame.Err == nil && bytes.Equal(l.key.scratch, l.key.bytes)
}
