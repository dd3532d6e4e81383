package render

import (
	"encoding/binary"
	"strconv"
	"time"

	"ppscript/runtime/event"
)

// wakeupSchema is sched:sched_wakeup of a 6.x kernel.
func wakeupSchema() *event.Schema {
	s := &event.Schema{System: "sched", Name: "sched_wakeup", Size: 36, Fields: []event.Field{
		{Name: "common_type", Offset: 0, Size: 2},
		{Name: "common_flags", Offset: 2, Size: 1},
		{Name: "common_preempt_count", Offset: 3, Size: 1},
		{Name: "common_pid", Offset: 4, Size: 4, Signed: true},
		{Name: "comm", Kind: event.Str, Offset: 8, Size: 16},
		{Name: "pid", Offset: 24, Size: 4, Signed: true},
		{Name: "prio", Offset: 28, Size: 4, Signed: true},
		{Name: "target_cpu", Offset: 32, Size: 4, Signed: true},
	}}
	comm, _ := s.Field("comm")
	pid, _ := s.Field("pid")
	s.Text = func(dst []byte, e *event.Event) []byte {
		dst = append(append(dst, "comm="...), comm.Text(e)...)
		n, _ := pid.Int(e)
		return strconv.AppendInt(append(dst, " pid="...), n, 10)
	}
	return s
}

// wakeup is an event of schema: waker wakes comm.
func wakeup(schema *event.Schema, waker, comm string, flags, preempt byte) *event.Event {
	raw := make([]byte, 36)
	raw[2], raw[3] = flags, preempt
	copy(raw[8:24], comm)
	binary.LittleEndian.PutUint32(raw[24:], 42)
	binary.LittleEndian.PutUint32(raw[28:], 120)
	binary.LittleEndian.PutUint32(raw[32:], 1)
	stream := &event.Stream{Schema: schema, Label: "sched:sched_wakeup"}
	stream.Comm = func(*event.Event) string { return waker }
	return &event.Event{Time: 2206475150600, Stream: stream, Raw: raw, PID: 4700, TID: 4711, CPU: 1}
}

// titled is an event that lines call by another name than the kernel.
func titled(e *event.Event, title string) *event.Event {
	e.Kind, e.Stream.Title = event.Sample, title
	return e
}

// bootAt is when the test machine's clock was 0.
var bootAt = time.Date(2026, 1, 2, 9, 23, 13, 0, time.UTC)

func clock(t event.Time) time.Time { return bootAt.Add(time.Duration(t)) }
