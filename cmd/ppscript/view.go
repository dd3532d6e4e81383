package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/cmd/ppscript/recording/diff"
	"ppscript/cmd/ppscript/recording/resultfile"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/cmd/ppscript/terminal/progress"
	"ppscript/cmd/ppscript/terminal/screen"
	"ppscript/runtime/event"
	outputs "ppscript/runtime/output"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	resultview "ppscript/runtime/result/view"
	"ppscript/runtime/session"
	"ppscript/runtime/source/perfdata"
)

// A view shows the results and messages of a session.
type view struct {
	app      *app
	common   *common
	out      *resultfile.File
	sinks    *outputs.Sinks
	name     string // the script's
	renderer render.Renderer
	baseline *diff.Baseline // saved results to compare with; nil: none
	early    []string       // messages from before there was a renderer
	began    time.Time

	line       *progress.Line // shows the progress of reading; nil if it would not be visible
	live       string         // the result that is redrawn on the terminal; "" prints
	quit       func()
	screen     atomic.Pointer[screen.Screen]
	sinceStart bool // a column has times since the start
}

// open makes the renderer. It is called before the first event.
func (v *view) open(clock func(event.Time) time.Time) (render.Renderer, error) {
	o := v.common.render
	o.Clock = clock
	o.Start = v.start(clock)
	o.Width = console.TerminalWidth(v.app.Stdout)
	if v.out.Path == "" {
		o.Notes = v.app.Stderr
		o.Terminal = func() int { return console.TerminalWidth(v.app.Stdout) }
		if console.Colorful(v.app.Stdout, o.Color) {
			o.Color = "always"
		}
	}
	if err := v.out.Begin(); err != nil {
		return nil, err
	}
	var err error
	if v.live != "" {
		s, err := screen.New(v.out, v.app.Stdout, o, v.live, v.common.options.Interval, v.app.Stderr, v.quit)
		if err != nil {
			return nil, err
		}
		v.screen.Store(s)
		v.renderer = s
		if p := v.common.page.server; p != nil {
			s.Say(p.Hint()) // again: the table covers earlier messages
		}
	} else if v.renderer, err = render.New(v.line.Before(v.out), o); err != nil {
		return nil, err
	}
	main := v.renderer
	if v.common.linesAside && v.common.hidesLines() {
		main = render.NoLines{Renderer: main}
	}
	v.renderer = v.sinks.Beside(main, outputs.About{
		Script: v.name, Args: os.Args[1:], Interval: v.common.options.Interval,
		Recorded: v.common.input != "", Clock: clock,
	})
	if v.baseline != nil {
		v.renderer = v.baseline.Beside(v.renderer)
	}
	for _, line := range v.early {
		if err := v.note(line); err != nil {
			return nil, err
		}
	}
	v.early = nil
	return v.renderer, nil
}

// close restores the terminal if results were redrawn on it.
func (v *view) close() {
	if s := v.screen.Load(); s != nil {
		s.Close()
	}
}

// start returns the time from which --time rel and columns since the start count: the
// beginning of the run, or the first sample of a recording.
func (v *view) start(clock func(event.Time) time.Time) event.Time {
	if v.common.render.Time != "rel" && !v.sinceStart {
		return 0
	}
	if v.common.input != "" {
		if st, err := os.Stat(v.common.input); err != nil || !st.Mode().IsRegular() {
			return 0 // the start of a pipe is not known yet: it can be read only once
		}
		f, err := perfdata.Open(v.common.input, perfdata.Options{})
		if err != nil {
			return 0 // the session read it, and will report it
		}
		defer f.Close()
		return f.Info().FirstSample
	}
	if zero := clock(0); !zero.IsZero() {
		return event.Time(v.began.Sub(zero))
	}
	return 0
}

// message shows a line of the session on stderr, and in JSON as a record too.
func (v *view) message(line string) {
	if s := v.screen.Load(); s != nil && v.app.Quiet == 0 {
		s.Say(line)
		return
	}
	v.app.Say(line)
	v.record(line)
}

// friendly shows a note that is useful but not necessary: on a terminal, or with -v. Otherwise it
// is left out, since some programs treat each line on stderr as a failure.
func (v *view) friendly(line string) {
	if v.common.options.Verbose > 0 || console.IsTerminal(os.Stderr) {
		v.message(line)
		return
	}
	v.record(line)
}

// state shows a line about the state of the run, among the results.
func (v *view) state(line string) error {
	if s := v.screen.Load(); s != nil {
		s.Say(line)
		return nil
	}
	if v.common.render.Format == "json" {
		return v.note(line)
	}
	return v.renderer.Show(result.TextOf(line + "\n"))
}

// record writes a message as a record of JSON output.
func (v *view) record(line string) {
	if v.common.render.Format != "json" {
		return
	}
	if v.renderer == nil {
		v.early = append(v.early, line)
		return
	}
	// If the reader is gone, the next result reports it.
	_ = v.note(line)
}

func (v *view) note(line string) error {
	return v.renderer.Note("message", render.NoteField{Name: "text", Value: event.StrOf(line)})
}

// end writes the record that closes JSON output.
func (v *view) end(o session.Outcome) error {
	if v.renderer != nil && v.baseline != nil && !v.out.Broken.Load() {
		if err := v.baseline.End(v.renderer); err != nil {
			return err
		}
	}
	if v.renderer == nil || v.common.render.Format != "json" || v.out.Broken.Load() {
		return nil
	}
	fields := []render.NoteField{
		{Name: "samples", Value: event.UintOf(o.Samples)},
		{Name: "missing", Value: event.UintOf(o.Loss.Missing())},
	}
	if st := o.Stats; st != nil {
		fields = append(fields, render.NoteField{Name: "attached", Value: event.StrOf(st.Mode)},
			render.NoteField{Name: "opened", Value: event.IntOf(int64(st.Opened))},
			render.NoteField{Name: "rings", Value: event.IntOf(int64(len(st.Rings)))})
	}
	if o.Status >= 0 {
		fields = append(fields, render.NoteField{Name: "status", Value: event.IntOf(int64(o.Status))})
	}
	return errors.Join(v.renderer.Note("end", fields...), v.renderer.Flush())
}

// livesOnScreen reports that the only result is a table, and that it can be redrawn in place: stdin and
// stdout are a terminal, ppscript runs in its foreground, and no observed command writes to it.
func (inv *invocation) livesOnScreen(stdout *os.File, reports []plan.Report) bool {
	c := inv.common
	g, ok := reports[0].(*plan.Group)
	if !ok || len(reports) != 1 || !g.View.Live {
		return false
	}
	if c.baseline != "" || c.options.Interval == 0 || c.input != "" || c.output != "" ||
		c.render.Format != "text" && c.render.Format != "" || c.target.Workload != nil {
		return false
	}
	if slices.ContainsFunc(inv.eventTexts(), func(s string) bool { return strings.Contains(s, "exec=") }) {
		return false // exec= prints for each event
	}
	if !console.IsTerminal(os.Stdin) || !console.IsTerminal(stdout) || os.Getenv("TERM") == "dumb" ||
		os.Getenv("TERM") == "" {
		return false
	}
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// sinceStart reports that a result has a column of times since the start.
func sinceStart(reports []plan.Report) bool {
	return slices.ContainsFunc(reports, func(r plan.Report) bool {
		var columns map[string]resultview.Width
		switch r := r.(type) {
		case *plan.Group:
			columns = r.View.Widths
		case *plan.Log:
			if r.View != nil {
				columns = r.View.Widths
			}
		}
		for _, w := range columns {
			if w.Clock == result.SinceStart {
				return true
			}
		}
		return false
	})
}
