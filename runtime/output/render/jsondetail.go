package render

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// detail writes a record of type detail: the pair, and the events around it
// with their distance from the start in ns.
func (r *jsonRenderer) detail(d *result.Detail) error {
	r.begin("detail")
	r.buf = appendJSONString(append(r.buf, `"name":`...), d.Name)
	r.buf = appendJSONString(append(r.buf, `,"pair":`...), d.Pair)
	r.buf = strconv.AppendInt(append(r.buf, `,"delay":`...), d.DelayNS(), 10)
	if d.Reason != "" {
		r.buf = appendJSONString(append(r.buf, `,"unfinished":`...), d.Reason)
	}
	if d.Evicted.Some {
		r.buf = append(r.buf, `,"incomplete":true,"complete_since":`...)
		r.buf = strconv.AppendInt(r.buf, int64(d.Evicted.Since-d.Start.Time), 10)
	}
	r.buf = append(r.buf, `,"start":{`...)
	r.eventMembers(d, d.Start)
	if d.End != nil {
		r.buf = append(r.buf, `},"end":{`...)
		r.eventMembers(d, d.End)
	}
	r.buf = append(r.buf, `},"events":[`...)
	for i := range d.Lines {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.detailLine(d, &d.Lines[i])
	}
	r.buf = append(r.buf, ']')
	return r.end()
}

var partNames = [...]string{result.Previous: "before", result.Between: "between", result.After: "after"}

func (r *jsonRenderer) detailLine(d *result.Detail, l *result.DetailLine) {
	r.buf = appendJSONString(append(r.buf, `{"part":`...), partNames[l.Part])
	if l.Event == nil {
		r.buf = strconv.AppendInt(append(r.buf, `,"hidden":`...), int64(l.Hidden), 10)
		r.buf = append(r.buf, '}')
		return
	}
	r.buf = strconv.AppendInt(append(r.buf, `,"since":`...), int64(l.Event.Time-d.Start.Time), 10)
	if l.State != "" {
		r.buf = appendJSONString(append(r.buf, `,"state":`...), l.State)
	}
	if l.Ran {
		r.buf = strconv.AppendInt(append(r.buf, `,"ran":`...), l.RanNS, 10)
		r.buf = appendJSONString(append(r.buf, `,"ran_comm":`...), l.RanComm)
	}
	r.buf = append(r.buf, ',')
	r.eventMembers(d, l.Event)
	r.buf = append(r.buf, '}')
}

// eventMembers writes the members of an event without its name in the script.
func (r *jsonRenderer) eventMembers(d *result.Detail, e *event.Event) {
	s := r.line.of(e)
	r.buf = strconv.AppendInt(append(r.buf, `"time":`...), int64(e.Time), 10)
	r.threadAndCPU(e)
	r.buf = appendJSONString(append(r.buf, `,"event":`...), nameOf(e, s))
	r.fields(e, s)
	if d.Stack != nil {
		r.frames(d.Stack(e))
	}
}
