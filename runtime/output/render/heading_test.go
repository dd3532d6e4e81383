package render

import (
	"bytes"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// emitted is an event with n = 3 of a fold.
func emitted(name string) *event.Event {
	return &event.Event{
		Time: 2e9,
		TID:  7,
		PID:  7,
		Stream: &event.Stream{Schema: &event.Schema{
			System: "fold",
			Name:   name,
			Fields: []event.Field{{Name: "n", Place: event.InSlot, Size: 8, Signed: true}},
		}},
		Derived: &event.Derived{Slots: []event.Value{event.IntOf(3)}},
	}
}

// A heading stands in place of the event's line, and its parts below it, with
// their stacks; JSON has the event and nothing of its parts.
func TestHeading(t *testing.T) {
	e := emitted("state")
	made := e.Stream
	line := &result.Line{
		Event:     e,
		Heading:   "state: \x1b[31m 3",
		CallStack: result.StackOf(&result.Frame{Symbol: "not_shown"}),
		Parts: []result.Line{
			{Event: &event.Event{Time: 1e9, TID: 8, CPU: 1, Stream: made, Derived: &event.Derived{Slots: []event.Value{event.IntOf(1)}}}, CallStack: result.StackOf(&result.Frame{Addr: 16, Symbol: "slept"})},
			{Event: &event.Event{Time: 2e9, TID: 9, Stream: made, Derived: &event.Derived{Slots: []event.Value{event.IntOf(2)}}}},
		},
	}
	f := func(format, want string) {
		t.Helper()
		var out bytes.Buffer
		r := newRenderer(t, &out, Options{Format: format})
		r.Show(line)
		r.Flush()
		if out.String() != want {
			t.Errorf("%s: got\n%swant\n%s", format, out.String(), want)
		}
	}
	f("text", " state: \\x1b[31m 3\n"+
		"             pid-8      8 [001] 1.000000: state: n=1\n"+
		"    0000000000000010 slept+0x0\n"+
		"             pid-9      9 [000] 2.000000: state: n=2\n")
	f("json",
		`{"v":1,"type":"event","data":{"name":"log","time":2000000000,"comm":"pid-7","pid":7,"tid":7,"cpu":0,`+
			`"event":"state","fields":{"n":3},"text":"n=3"}}`+"\n")
}

// A text stands in place of the fields, its other lines above the stack; JSON
// and CSV have the fields.
func TestTextOfFields(t *testing.T) {
	line := &result.Line{
		Event:     emitted("gap"),
		Text:      "clock 3 \x1b ns\nswitches 4\nwakeups 5",
		CallStack: result.StackOf(&result.Frame{Addr: 16, Symbol: "late"}),
	}
	for format, want := range map[string]string{
		"text": "             pid-7      7 [000] 2.000000: gap: clock 3 \\x1b ns\n    switches 4\n    wakeups 5\n    0000000000000010 late+0x0\n",
		"csv":  "time(s),result,comm,pid,tid,cpu,event,text\r\n2.000000000,log,pid-7,7,7,0,gap,n=3\r\n",
	} {
		var out bytes.Buffer
		r := newRenderer(t, &out, Options{Format: format})
		r.Show(line)
		r.Flush()
		if out.String() != want {
			t.Errorf("%s: got\n%swant\n%s", format, out.String(), want)
		}
	}
}
