// Package progress shows a line on a terminal for steps that take longer than a
// second: how much is done, how fast, and how long the rest will take. The line is
// erased before anything else is printed.
package progress

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/text/unit"
)

const (
	patience = time.Second            // time until the line appears
	often    = 200 * time.Millisecond // time between two updates
)

// A Line is the progress line on a terminal. A nil Line is valid and never
// shown.
type Line struct {
	mu        sync.Mutex
	w         io.Writer
	now       func() time.Time
	width     func() int // columns of the terminal; 0: not known
	step      step
	began     time.Time // when the step began
	printedAt time.Time
	visible   bool
	waiting   *time.Timer // updates the line of Waiting; nil after something was printed
}

// A step is a kind of work, with the unit in which progress is shown.
type step struct {
	doing  string // "reading"
	things string // "stacks"; "" for bytes
}

var (
	reading = step{doing: "reading"}
	naming  = step{doing: "naming functions", things: "stacks"}
	closing = step{doing: "closing", things: "events"}
)

// OnTerminal returns the line for a console and makes the console's messages erase
// it; nil if stderr is no terminal or messages are off.
func OnTerminal(c *console.Console) *Line {
	if c.Quiet > 0 || !console.IsTerminal(os.Stderr) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	l := &Line{w: os.Stderr, now: time.Now,
		width: func() int { return console.TerminalWidth(os.Stderr) }}
	c.Stderr = l.Before(c.Stderr)
	return l
}

// Read reports that done bytes of a recording were read; size is 0 if it is not known.
func (l *Line) Read(done, size uint64) { l.at(reading, done, size) }

// Named reports that the functions of done stacks have names.
func (l *Line) Named(done, all uint64) { l.at(naming, done, all) }

// Closed reports that done events of a run were closed and their programs detached.
func (l *Line) Closed(done, all uint64) { l.at(closing, done, all) }

// Waiting returns a function to call with the names of the events when a run begins to observe
// them. From then on the line shows these names and the time since, until something is printed.
// limit is the duration of the run; 0 is without end.
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

// waited ends the line of Waiting. The lock is held.
func (l *Line) waited() {
	if l.waiting != nil {
		l.waiting.Stop()
		l.waiting = nil
	}
}

// wait shows the line of Waiting, and schedules itself again in a second.
func (l *Line) wait(events string, limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		return
	}
	l.visible = true
	text := waiting(events, l.now().Sub(l.began), limit)
	if w := l.width(); w > 0 && len(text) >= w { // a line of two rows could not be erased
		text = waiting("events", l.now().Sub(l.began), limit)
	}
	fmt.Fprintf(l.w, "\r\x1b[K%s", text)
	l.waiting.Reset(patience)
}

// waiting returns the text of the line, such as "observing sched:sched_switch:
// 3s of 10s".
func waiting(events string, took, limit time.Duration) string {
	s := "observing " + cmp.Or(events, "events") + ": " + took.Round(time.Second).String()
	if limit > 0 {
		return s + " of " + limit.String()
	}
	return s + "; Ctrl-C ends it and shows the results"
}

// at reports that done of all units of a step are done; all is 0 if it is not
// known.
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

// text returns the text of the line, such as "reading: 1.2 GiB of 3.0 GiB
// (40%), 400 MiB/s, 5 s left".
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

// bytes formats a size with one decimal.
func bytes(n float64) string {
	for _, u := range []unit.Unit{unit.GiB, unit.MiB, unit.KiB} {
		if n >= u.Scale {
			return fmt.Sprintf("%.1f %s", n/u.Scale, u.Symbol)
		}
	}
	return fmt.Sprintf("%.0f B", n)
}

// Clear erases the line.
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

// Before returns a writer to w that erases the line before each write.
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
