package session

import (
	"errors"
	"fmt"

	"ppscript/runtime/source/perf"
)

// messages shows messages to the user that are not part of the results.
type messages struct {
	cfg   *Config
	once  map[string]bool // lines that were shown and are not repeated
	heard chan string     // lines from other goroutines
}

func newMessages(cfg *Config) *messages {
	return &messages{cfg: cfg, once: map[string]bool{}, heard: make(chan string, 64)}
}

func (m *messages) say(format string, args ...any) {
	if m.cfg.Messages != nil {
		m.cfg.Messages(fmt.Sprintf(format, args...))
	}
}

// note is like say, for messages that are useful but not necessary.
func (m *messages) note(format string, args ...any) {
	if m.cfg.Notes != nil {
		m.cfg.Notes(fmt.Sprintf(format, args...))
	}
}

func (m *messages) verbose(level int, line string) {
	if m.cfg.Options.Verbose >= level {
		m.say("%s", line)
	}
}

// sayOnce is like say, but shows the same line only once in a run, also if the plan is
// built again. It reports whether the line was new.
func (m *messages) sayOnce(line string) (news bool) {
	if news = m.first(line); news {
		m.say("%s", line)
	}
	return news
}

func (m *messages) noteOnce(line string) {
	if m.first(line) {
		m.note("%s", line)
	}
}

// first reports that a line was not shown before, and records it.
func (m *messages) first(line string) bool {
	told := m.once[line]
	m.once[line] = true
	return !told
}

// leftOut shows a warning of package perf. A perf.LeftOut, for an event that only a
// pattern matched, is shown as a note.
func (m *messages) leftOut(err error) {
	if left := (*perf.LeftOut)(nil); errors.As(err, &left) {
		m.note("%v", left)
		return
	}
	m.say("%v", err)
}

// elsewhere returns say for other goroutines. Their messages are queued until
// sayHeard shows them.
func (m *messages) elsewhere() func(format string, args ...any) {
	return func(format string, args ...any) {
		select {
		case m.heard <- fmt.Sprintf(format, args...):
		default: // the queue is full: the message is dropped
		}
	}
}

// sayHeard shows the queued messages of other goroutines.
func (m *messages) sayHeard() {
	for {
		select {
		case line := <-m.heard:
			m.say("%s", line)
		default:
			return
		}
	}
}
