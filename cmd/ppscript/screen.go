package main

import (
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"ppscript/cmd/ppscript/console"
	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/result"

	"golang.org/x/sys/unix"
)

// This file shows the table of each interval in the place of the one before, on
// a terminal, and obeys its keys. Results at the end of the run are printed as
// usual, once the terminal is restored.
//
// Ctrl-C stays a signal, which ends the run as ever. Keys are read with a
// timeout: a read that waits for ever could not be ended without a byte.

// A screen is a renderer that redraws.
type screen struct {
	out   io.Writer
	plain render.Renderer // for the output behind the last frame
	notes io.Writer
	quit  func()
	in    int // file descriptors of the terminal
	size  int
	draw  *render.Screen

	mu     sync.Mutex // of the members below; keys, signals and the session draw
	view   render.ScreenView
	turned bool // the direction of the sort
	table  *result.Table
	frame  []byte
	said   []string // to be told at the end
	shown  bool     // the screen is ours
	before unix.Termios
	err    error

	stop   chan struct{}
	resize chan os.Signal
	ended  sync.WaitGroup
	once   sync.Once
}

// maxSaid bounds the messages that wait for the end.
const maxSaid = 100

// livesOnScreen reports that the results are one table that redraws, and that a
// person looks at it: stdin and stdout are a terminal in whose foreground we
// are, which no command of ours writes to.
func (a *app) livesOnScreen(inv *invocation, reports []plan.Report) bool {
	c := inv.common
	g, ok := reports[0].(*plan.Group)
	if !ok || len(reports) != 1 || !g.View.Live {
		return false
	}
	if c.options.Interval == 0 || c.input != "" || c.output != "" ||
		c.render.Format != "text" && c.render.Format != "" || c.target.Workload != nil {
		return false
	}
	if slices.ContainsFunc(inv.eventTexts(), func(s string) bool { return strings.Contains(s, "exec=") }) {
		return false // it prints for each event
	}
	if !console.IsTerminal(os.Stdin) || !console.IsTerminal(a.Stdout) || os.Getenv("TERM") == "dumb" ||
		os.Getenv("TERM") == "" {
		return false
	}
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// newScreen takes the terminal over; close gives it back.
func newScreen(out io.Writer, tty *os.File, o render.Options, name string, every time.Duration,
	notes io.Writer, quit func()) (*screen, error) {
	plain, err := render.New(out, o)
	if err != nil {
		return nil, err
	}
	s := &screen{out: out, plain: plain, notes: notes, quit: quit, in: int(os.Stdin.Fd()),
		size: int(tty.Fd()), draw: render.NewScreen(o),
		view: render.ScreenView{Name: name, Every: every.String()}, stop: make(chan struct{}),
		resize: make(chan os.Signal, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return nil, err
	}
	signal.Notify(s.resize, unix.SIGWINCH)
	s.ended.Add(2)
	go s.readKeys()
	go s.watchSize()
	return s, s.err
}

// enter makes the terminal ours and draws.
func (s *screen) enter() error {
	t, err := unix.IoctlGetTermios(s.in, unix.TCGETS)
	if err != nil {
		return err
	}
	s.before = *t
	t.Lflag &^= unix.ICANON | unix.ECHO
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 0, 1
	t.Cc[unix.VSUSP] = 0 // Ctrl-Z is a key: the terminal is given back first
	if err := unix.IoctlSetTermios(s.in, unix.TCSETSW, t); err != nil {
		return err
	}
	s.shown = true
	s.measure()
	s.frame = append(s.frame[:0], render.EnterScreen...)
	s.paint()
	return nil
}

// leave gives the terminal back as it was.
func (s *screen) leave() {
	if !s.shown {
		return
	}
	s.shown = false
	s.write([]byte(render.LeaveScreen))
	if err := unix.IoctlSetTermios(s.in, unix.TCSETSW, &s.before); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *screen) measure() {
	if ws, err := unix.IoctlGetWinsize(s.size, unix.TIOCGWINSZ); err == nil && ws.Row > 0 && ws.Col > 0 {
		s.view.Width, s.view.Height = int(ws.Col), int(ws.Row)
		return
	}
	s.view.Width, s.view.Height = 80, 24
}

// redraw draws the frame anew.
func (s *screen) redraw() {
	if s.shown {
		s.frame = s.frame[:0]
		s.paint()
	}
}

// paint writes the frame at once, behind the buffer's content.
func (s *screen) paint() {
	s.direct()
	s.frame = s.draw.Frame(s.frame, s.table, &s.view)
	s.write(s.frame)
}

func (s *screen) write(b []byte) {
	if _, err := s.out.Write(b); err != nil && s.err == nil {
		s.err = err
	}
}

// Table implements render.Renderer.
func (s *screen) Table(t *result.Table) error {
	if t.Final {
		return s.last(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.view.Paused {
		s.table = t.Clone()
		s.view.Message = ""
		s.redraw()
	}
	return s.err
}

// last prints the last result below the earlier content of the terminal. If
// nothing came since the last frame, the result is that of the frame.
func (s *screen) last(t *result.Table) error {
	s.close()
	if len(t.Rows) == 0 && s.table != nil {
		t = s.table
	}
	s.table = t
	s.direct()
	if s.view.Sort != "" {
		// A column that is gone leaves the order as it is.
		_ = t.Sort(s.view.Sort, s.view.Reverse)
	}
	return s.plain.Table(t)
}

// The rest of render.Renderer, for results other than the table.

func (s *screen) Histogram(h *result.Histogram) error { s.close(); return s.plain.Histogram(h) }
func (s *screen) Stacks(x *result.Stacks) error       { s.close(); return s.plain.Stacks(x) }
func (s *screen) Event(l *render.Line) error          { s.close(); return s.plain.Event(l) }
func (s *screen) Detail(d *result.Detail) error       { s.close(); return s.plain.Detail(d) }
func (s *screen) Print(text []byte) error             { s.close(); return s.plain.Print(text) }

// Note implements render.Renderer: the screen has a line for messages.
func (s *screen) Note(kind string, fields ...render.NoteField) error {
	line := kind + ":"
	for _, f := range fields {
		line += " " + f.Name + "=" + f.Value.String()
	}
	s.say(line)
	return s.err
}

// Flush implements render.Renderer: frames are written at once.
func (s *screen) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown || s.err != nil {
		return s.err
	}
	return s.plain.Flush()
}

// say shows a message on the screen, and once more when it is left.
func (s *screen) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.said) < maxSaid {
		s.said = append(s.said, line)
	}
	if s.shown {
		s.view.Message = line
		s.redraw()
		return
	}
	s.tell()
}

// tell prints the messages.
func (s *screen) tell() {
	for _, line := range s.said {
		io.WriteString(s.notes, "ppscript: "+line+"\n")
	}
	s.said = nil
}

// close gives the terminal back. It may be called more than once. Keys are read
// no more before the terminal is as it was: there a read waits for a line.
func (s *screen) close() {
	s.once.Do(func() {
		signal.Stop(s.resize)
		close(s.stop)
		s.ended.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave()
		s.tell()
	})
}

func (s *screen) watchSize() {
	defer s.ended.Done()
	for {
		select {
		case <-s.stop:
			return
		case <-s.resize:
			s.mu.Lock()
			s.measure()
			s.redraw()
			s.mu.Unlock()
		}
	}
}

func (s *screen) readKeys() {
	defer s.ended.Done()
	b := make([]byte, 64)
	for {
		n, err := unix.Read(s.in, b)
		select {
		case <-s.stop:
			return
		default:
		}
		switch {
		case err == unix.EINTR:
		case err != nil:
			return // the terminal is gone; SIGHUP says so too
		case n > 0:
			s.mu.Lock()
			for keys := string(b[:n]); keys != ""; {
				var key string
				key, keys = nextKey(keys)
				s.obey(key)
			}
			s.redraw()
			s.mu.Unlock()
		}
	}
}

// nextKey cuts the first key off: a byte, or the sequence of a special key.
func nextKey(s string) (key, rest string) {
	if len(s) > 2 && s[0] == '\x1b' && (s[1] == '[' || s[1] == 'O') {
		for i := 2; i < len(s); i++ {
			if s[i] >= '@' && s[i] <= '~' {
				return s[:i+1], s[i+1:]
			}
		}
	}
	return s[:1], s[1:]
}

// obey carries out a key.
func (s *screen) obey(key string) {
	v := &s.view
	page := max(1, v.Height-4)
	v.Message = ""
	switch key {
	case "q", "Q":
		s.quit()
	case "p", " ":
		v.Paused = !v.Paused
	case "r":
		s.turned = !s.turned
	case ">", ".", "\x1b[C", "\x1bOC":
		s.sortBy(1)
	case "<", ",", "\x1b[D", "\x1bOD":
		s.sortBy(-1)
	case "k", "\x1b[A", "\x1bOA":
		v.From--
	case "j", "\x1b[B", "\x1bOB":
		v.From++
	case "\x1b[5~":
		v.From -= page
	case "\x1b[6~":
		v.From += page
	case "g", "\x1b[H", "\x1bOH", "\x1b[1~":
		v.From = 0
	case "G", "\x1b[F", "\x1bOF", "\x1b[4~":
		v.From = 1 << 30
	case "\x1a":
		s.suspend()
	}
}

// sortBy goes on to the next column, or back. In front of the first one is the
// order that the script gave.
func (s *screen) sortBy(step int) {
	if s.table == nil {
		return
	}
	names := append([]string{""}, s.table.Names()...)
	i := (slices.Index(names, s.view.Sort) + step + len(names)) % len(names)
	s.view.Sort, s.view.From, s.turned = names[i], 0, false
}

// direct settles the direction: numbers begin with the largest. Only rows tell
// that it is numbers, which an interval may lack.
func (s *screen) direct() {
	numbers := false
	if s.table != nil && s.view.Sort != "" {
		i := slices.Index(s.table.Names(), s.view.Sort)
		numbers = i >= 0 && slices.ContainsFunc(s.table.Rows, func(row []event.Value) bool {
			return i < len(row) && row[i].Numeric()
		})
	}
	s.view.Reverse = numbers != s.turned
}

// suspend stops the process as Ctrl-Z does elsewhere. All threads stop some time
// after the signal; where nobody could continue us, the kernel ignores it.
func (s *screen) suspend() {
	s.leave()
	cont := make(chan os.Signal, 1)
	signal.Notify(cont, unix.SIGCONT)
	defer signal.Stop(cont)
	_ = unix.Kill(0, unix.SIGTSTP)
	select {
	case <-cont:
	case <-time.After(200 * time.Millisecond):
	}
	if err := s.enter(); err != nil && s.err == nil {
		s.err = err
	}
}
