package session

import (
	"errors"
	"fmt"

	"ppscript/runtime/source/perf"
)

// messages are told to the user beside the results.
type messages struct {
	cfg   *Config
	once  map[string]bool // the messages that are given once
	heard chan string     // from other goroutines
}

func newMessages(cfg *Config) *messages {
	return &messages{cfg: cfg, once: map[string]bool{}, heard: make(chan string, 64)}
}

func (m *messages) say(format string, args ...any) {
	if m.cfg.Messages != nil {
		m.cfg.Messages(fmt.Sprintf(format, args...))
	}
}

// note is say for messages that are only kind to know.
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

// sayOnce is say for messages that a plan which is built again would repeat, and reports
// whether it was not.
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

// first reports that a line was not told before.
func (m *messages) first(line string) bool {
	told := m.once[line]
	m.once[line] = true
	return !told
}

// leftOut tells of an event that perf leaves out: of events that a pattern found, only to
// users who ask for notes.
func (m *messages) leftOut(err error) {
	if left := (*perf.LeftOut)(nil); errors.As(err, &left) {
		m.note("%v", left)
		return
	}
	m.say("%v", err)
}

// elsewhere returns a function for other goroutines: sayHeard shows their messages.
func (m *messages) elsewhere() func(format string, args ...any) {
	return func(format string, args ...any) {
		select {
		case m.heard <- fmt.Sprintf(format, args...):
		default: // nobody can read that fast
		}
	}
}

// sayHeard shows the messages of other goroutines.
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
