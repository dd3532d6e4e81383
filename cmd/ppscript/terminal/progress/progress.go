// Package progress tells a person at a terminal how far something is that takes
// longer than a second: how much was done, how fast that goes, and how long the rest
// will take. It is one line, which vanishes when something else is printed.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/text/unit"
)

const (
	patience = time.Second            // before the line appears
	often    = 200 * time.Millisecond // how long it stays as it is
)

// A Line is the line of progress on a terminal. A nil Line is never shown.
type Line struct {
	mu        sync.Mutex
	w         io.Writer
	now       func() time.Time
	width     func() int // of the terminal; 0 is not known
	step      step
	began     time.Time // the step
	printedAt time.Time
	visible   bool
	waiting   *time.Timer // shows what a run waits for; nil once something was printed
}

// A step is what is done, and how what is done of it is written: bytes, or a number of things.
type step struct {
	doing  string // "reading"
	things string // "stacks"; "" for bytes
}

var (
	reading = step{doing: "reading"}
	naming  = step{doing: "naming functions", things: "stacks"}
	closing = step{doing: "closing", things: "events"}
)

// OnTerminal is the line below what a console says; nil if that is no terminal, or
// its user wants to hear nothing.
func OnTerminal(c *console.Console) *Line {
	if c.Quiet > 0 || !console.IsTerminal(os.Stderr) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	l := &Line{w: os.Stderr, now: time.Now,
		width: func() int { return console.TerminalWidth(os.Stderr) }}
	c.Stderr = l.Before(c.Stderr)
	return l
}

// Read tells that so many bytes of a recording were read; size is 0 if it is not known.
func (l *Line) Read(done, size uint64) { l.at(reading, done, size) }

// Named tells that the functions of so many stacks have names.
func (l *Line) Named(done, all uint64) { l.at(naming, done, all) }

// Closed tells that so many events of a run were closed, and their programs detached.
func (l *Line) Closed(done, all uint64) { l.at(closing, done, all) }

// Waiting is what is told the names of the events that a run begins to observe. From then on the line says
// what the run waits for and for how long it has, until something is printed. limit is how long it may take;
// 0 is without end.
func (l *Line) Waiting(limit time.Duration) func(events string) {
	return func(events string) {
		if l == nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.began = l.now()
		l.waiting = time.AfterFunc(patience, func() { l.wait(events, limit) })
	}
}

// waited ends the line of what a run waits for.
func (l *Line) waited() {
	if l.waiting != nil {
		l.waiting.Stop()
		l.waiting = nil
	}
}

// wait shows the line of a run that has printed nothing yet, and does so again in a second.
func (l *Line) wait(events string, limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		return
	}
	l.visible = true
	text := waiting(events, l.now().Sub(l.began), limit)
	if w := l.width(); w > 0 && len(text) >= w { // two rows could not be cleared
		text = waiting("events", l.now().Sub(l.began), limit)
	}
	fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	l.waiting.Reset(patience)
}

// waiting is the line: "observing sched:sched_switch: 3s of 10s".
func waiting(events string, took, limit time.Duration) string {
	s := "observing " + events + ": " + took.Round(time.Second).String()
	if limit > 0 {
		return s + " of " + limit.String()
	}
	return s + "; Ctrl-C ends it and shows the results"
}

// at tells how far a step is: done of all, 0 if nobody knows how much there is.
func (l *Line) at(step step, done, all uint64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waited()
	now := l.now()
	if step != l.step {
		l.step, l.began = step, now
	}
	took := now.Sub(l.began)
	if took < patience || now.Sub(l.printedAt) < often {
		return
	}
	l.printedAt, l.visible = now, true
	fmt.Fprintf(l.w, "\r\x1b[K%s", text(step, done, all, took))
}

// text is the line: "reading: 1.2 GiB of 3.0 GiB (40%), 400 MiB/s, 5 s left".
func text(step step, done, all uint64, took time.Duration) string {
	size := func(n uint64) string {
		if step.things == "" {
			return bytes(float64(n))
		}
		return fmt.Sprintf("%d %s", n, step.things)
	}
	rate := float64(done) / took.Seconds()
	s := step.doing + ": " + size(done)
	if all >= done && all > 0 {
		s += fmt.Sprintf(" of %s (%d%%)", size(all), done*100/all)
	}
	s += ", " + size(uint64(rate)) + "/s"
	if all > done && rate > 0 {
		left := time.Duration(float64(all-done) / rate * float64(time.Second))
		s += fmt.Sprintf(", %s left", max(left.Round(time.Second), time.Second))
	}
	return s
}

// bytes is a size in three or four digits.
func bytes(n float64) string {
	for _, u := range []unit.Unit{unit.GiB, unit.MiB, unit.KiB} {
		if n >= u.Scale {
			return fmt.Sprintf("%.1f %s", n/u.Scale, u.Symbol)
		}
	}
	return fmt.Sprintf("%.0f B", n)
}

// Clear takes the line away.
func (l *Line) Clear() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waited()
	if l.visible {
		io.WriteString(l.w, "\r\x1b[K")
		l.visible = false
	}
}

// Before is w, in front of whose output the line vanishes.
func (l *Line) Before(w io.Writer) io.Writer {
	if l == nil {
		return w
	}
	return clearing{l, w}
}

type clearing struct {
	line *Line
	io.Writer
}

func (c clearing) Write(p []byte) (int, error) {
	c.line.Clear()
	return c.Writer.Write(p)
}
