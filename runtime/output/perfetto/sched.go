package perfetto

import "ppscript/runtime/result/timeline"

// Fields of FtraceEvent.
const (
	ftraceSwitch    = 4
	ftraceWakeup    = 17
	ftraceWaking    = 20
	ftraceWakeupNew = 114
)

// switched writes a switch between threads.
func (t *Writer) switched(it *timeline.Item) {
	s := &it.Sched
	p := appendText(t.part[:0], 1, s.Prev.Comm)
	p = appendInt(appendInt(appendInt(p, 2, s.Prev.TID), 3, s.Prev.Prio), 4, s.State)
	p = appendText(p, 5, s.Next.Comm)
	t.part = appendInt(appendInt(p, 6, s.Next.TID), 7, s.Next.Prio)
	t.ftrace(it, ftraceSwitch)
}

// woke writes a wake-up of a thread.
func (t *Writer) woke(it *timeline.Item) {
	s := &it.Sched
	p := appendText(t.part[:0], 1, s.Next.Comm)
	p = appendInt(appendInt(appendInt(p, 2, s.Next.TID), 3, s.Next.Prio), 4, 1)
	if s.CPU >= 0 {
		p = appendInt(p, 5, int64(s.CPU))
	}
	t.part = p
	switch {
	case s.Waking:
		t.ftrace(it, ftraceWaking)
	case s.New:
		t.ftrace(it, ftraceWakeupNew)
	default:
		t.ftrace(it, ftraceWakeup)
	}
}

// ftrace writes the message in t.part as an event of ftrace.
func (t *Writer) ftrace(it *timeline.Item, field int) {
	ev := appendInt(t.event[:0], 1, int64(it.Time))
	ev = appendInt(ev, 2, int64(it.Event.TID))
	t.event = appendBytes(ev, field, t.part)
	bundle := appendBytes(appendInt(t.part[:0], 1, int64(it.Event.CPU)), 2, t.event)
	t.part = bundle
	t.packet = appendBytes(t.packet[:0], packetFtrace, bundle)
	t.put()
}

// sample writes a sample of a clock or counter.
func (t *Writer) sample(it *timeline.Item) {
	id := t.stack(it.Stack)
	if id == 0 {
		t.track(it, it.Time, typeInstant)
		return
	}
	s := appendInt(t.event[:0], 1, int64(it.Event.CPU))
	if it.Event.PID >= 0 {
		s = appendInt(s, 2, int64(it.Event.PID))
	}
	s = appendUint(appendInt(s, 3, int64(it.Event.TID)), 4, id)
	if n, known := t.counted(it); known {
		s = appendUint(s, 6, n)
	}
	t.event = s
	t.packet = appendInt(t.packet[:0], packetTime, int64(it.Time))
	t.packet = appendBytes(t.packet, packetSample, t.event)
	t.putInterned()
}

// weights adds up the weights of samples by CPU, since a trace has the sums. Only the first
// clock or counter with samples has weights.
type weights struct {
	name  string
	sums  map[int32]uint64
	named bool // the name was written since the state was cleared
}

// counted returns the sum of the weights on a sample's CPU, including the
// sample.
func (t *Writer) counted(it *timeline.Item) (sum uint64, known bool) {
	w := &t.weight
	if it.Weight == 0 || w.name != "" && w.name != it.Name {
		return 0, false
	}
	if w.sums == nil {
		w.name, w.sums = it.Name, map[int32]uint64{}
	}
	if !w.named {
		w.named = true
		defaults := appendBytes(nil, 12, appendBytes(nil, 1, appendBytes(nil, 10, w.name)))
		t.packet = appendBytes(t.packet[:0], packetDefaults, defaults)
		t.putInterned()
	}
	w.sums[it.Event.CPU] += it.Weight
	return w.sums[it.Event.CPU], true
}
