package session

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/workload"
	"ppscript/runtime/text/diag"
)

// This file computes perf's tool events, which the kernel does not have: the elapsed time of
// the command, and its time in user code and in the kernel.

// silent is the number of an event that is opened but not reported in results.
const silent = -1

// A toolCount has the state of one of these events.
type toolCount struct {
	number  int // among the events of the set
	stream  *event.Stream
	command *workload.Command // nil: elapsed time of the run
	began   time.Time
}

func (c *counterRun) addTool(number int, s *plan.Source, schema *event.Schema,
	command *workload.Command) error {
	if command == nil && s.Name != "duration_time" {
		if s.Optional || c.set.Spec.Missing {
			return nil
		}
		return diag.Errorf(diag.Usage, "open event", s.FullName(), "there is no command whose time it is").
			WithHint("give one: ppscript stat -e %s -- COMMAND", s.Name)
	}
	label := s.Alias
	if label == "" {
		label = schema.FullName()
	}
	c.tools = append(c.tools, toolCount{
		number:  number,
		stream:  &event.Stream{Schema: schema, Label: label},
		command: command,
		began:   time.Now(),
	})
	return nil
}

// readTools appends the values of these events so far.
func (c *counterRun) readTools(dst []perf.Count) ([]perf.Count, error) {
	var of workload.Times
	for i, t := range c.tools {
		switch {
		case t.command == nil:
			of.Elapsed = time.Since(t.began)
		case i == 0:
			var err error
			if of, err = t.command.Times(); err != nil {
				return dst, err
			}
		}
		value := map[string]time.Duration{"duration_time": of.Elapsed, "user_time": of.User,
			"system_time": of.System}[t.stream.Schema.Name]
		dst = append(dst, perf.Count{Stream: t.stream, Event: t.number, CPU: -1, TID: -1,
			Value: uint64(value), Enabled: value, Running: value})
	}
	return dst, nil
}
