// Package screen shows the table of each interval in the place of the one before,
// on a terminal, and obeys its keys. Results at the end of the run are printed as
// usual, once the terminal is restored.
//
// Ctrl-C stays a signal, which ends the run as ever. Keys are read with a
// timeout: a read that waits for ever could not be ended without a byte.
package screen

import (
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"

	"golang.org/x/sys/unix"
)

// A Screen is a renderer that redraws.
type Screen struct {
	out   io.Writer
	plain render.Renderer // for the output behind the last frame
	notes io.Writer
	quit  func()
	draw  *render.Screen
	loops loops

	mu       sync.Mutex // of the members below; keys, signals and the session draw
	tty      tty
	view     render.ScreenView
	turned   bool // the direction of the sort
	table    *result.Table
	frame    []byte
	messages []string // to be told at the end
	err      error
}

// A tty is the terminal: its file descriptors, and its mode before it was ours.
type tty struct {
	in, size int
	before   unix.Termios
	active   bool // it is ours
}

// The loops read keys, and the terminal's size, until stop.
type loops struct {
	stop   chan struct{}
	resize chan os.Signal
	ended  sync.WaitGroup
	once   sync.Once
}

// maxSaid bounds the messages that wait for the end.
const maxSaid = 100

// New takes the terminal over; Close gives it back.
func New(out io.Writer, shown *os.File, o render.Options, name string, every time.Duration,
	notes io.Writer, quit func()) (*Screen, error) {
	plain, err := render.New(out, o)
	if err != nil {
		return nil, err
	}
	s := &Screen{
		out: out, plain: plain, notes: notes, quit: quit,
		draw:  render.NewScreen(o),
		loops: loops{stop: make(chan struct{}), resize: make(chan os.Signal, 1)},
		tty:   tty{in: int(os.Stdin.Fd()), size: int(shown.Fd())},
		view:  render.ScreenView{Name: name, Every: every.String()},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.enter(); err != nil {
		return nil, err
	}
	signal.Notify(s.loops.resize, unix.SIGWINCH)
	s.loops.ended.Add(2)
	go s.readKeys()
	go s.watchSize()
	return s, s.err
}

// enter makes the terminal ours and draws.
func (s *Screen) enter() error {
	t, err := unix.IoctlGetTermios(s.tty.in, unix.TCGETS)
	if err != nil {
		return err
	}
	s.tty.before = *t
	t.Lflag &^= unix.ICANON | unix.ECHO
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 0, 1
	t.Cc[unix.VSUSP] = 0 // Ctrl-Z is a key: the terminal is given back first
	if err := unix.IoctlSetTermios(s.tty.in, unix.TCSETSW, t); err != nil {
		return err
	}
	s.tty.active = true
	s.measure()
	s.frame = append(s.frame[:0], render.EnterScreen...)
	s.paint()
	return nil
}

// leave gives the terminal back as it was.
func (s *Screen) leave() {
	if !s.tty.active {
		return
	}
	s.tty.active = false
	s.write([]byte(render.LeaveScreen))
	if err := unix.IoctlSetTermios(s.tty.in, unix.TCSETSW, &s.tty.before); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *Screen) measure() {
	if ws, err := unix.IoctlGetWinsize(s.tty.size, unix.TIOCGWINSZ); err == nil && ws.Row > 0 && ws.Col > 0 {
		s.view.Width, s.view.Height = int(ws.Col), int(ws.Row)
		return
	}
	s.view.Width, s.view.Height = 80, 24
}

// redraw draws the frame anew.
func (s *Screen) redraw() {
	if s.tty.active {
		s.frame = s.frame[:0]
		s.paint()
	}
}

// paint writes the frame at once, behind the buffer's content.
func (s *Screen) paint() {
	s.direct()
	s.frame = s.draw.Frame(s.frame, s.table, &s.view)
	s.write(s.frame)
}

func (s *Screen) write(b []byte) {
	if _, err := s.out.Write(b); err != nil && s.err == nil {
		s.err = err
	}
}

// Show implements render.Renderer: tables of intervals are frames, all else comes below the
// earlier content of the terminal.
func (s *Screen) Show(r result.Result) error {
	switch r := r.(type) {
	case *result.Heatmap:
		return nil // its files show it
	case *result.Table:
		if r.Histogram() < 0 {
			return s.show(r)
		}
	}
	s.Close()
	return s.plain.Show(r)
}

// show draws the table of an interval.
func (s *Screen) show(t *result.Table) error {
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
func (s *Screen) last(t *result.Table) error {
	s.Close()
	if len(t.Rows) == 0 && s.table != nil {
		t = s.table
	}
	s.table = t
	s.direct()
	if s.view.Sort != "" {
		// A column that is gone leaves the order as it is.
		_ = t.Sort(s.view.Sort, s.view.Reverse)
	}
	return s.plain.Show(t)
}

// Note implements render.Renderer: the screen has a line for messages.
func (s *Screen) Note(kind string, fields ...render.NoteField) error {
	line := kind + ":"
	for _, f := range fields {
		line += " " + f.Name + "=" + f.Value.String()
	}
	s.Say(line)
	return s.err
}

// Flush implements render.Renderer: frames are written at once.
func (s *Screen) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty.active || s.err != nil {
		return s.err
	}
	return s.plain.Flush()
}

// Say shows a message on the screen, and once more when it is left.
func (s *Screen) Say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.messages) < maxSaid {
		s.messages = append(s.messages, line)
	}
	if s.tty.active {
		s.view.Message = line
		s.redraw()
		return
	}
	s.tell()
}

// tell prints the messages.
func (s *Screen) tell() {
	for _, line := range s.messages {
		io.WriteString(s.notes, "ppscript: "+line+"\n")
	}
	s.messages = nil
}

// Close gives the terminal back. It may be called more than once. Keys are read
// no more before the terminal is as it was: there a read waits for a line.
func (s *Screen) Close() {
	s.loops.once.Do(func() {
		signal.Stop(s.loops.resize)
		close(s.loops.stop)
		s.loops.ended.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave()
		s.tell()
	})
}

func (s *Screen) watchSize() {
	defer s.loops.ended.Done()
	for {
		select {
		case <-s.loops.stop:
			return
		case <-s.loops.resize:
			s.mu.Lock()
			s.measure()
			s.redraw()
			s.mu.Unlock()
		}
	}
}

func (s *Screen) readKeys() {
	defer s.loops.ended.Done()
	b := make([]byte, 64)
	for {
		n, err := unix.Read(s.tty.in, b)
		select {
		case <-s.loops.stop:
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
func (s *Screen) obey(key string) {
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
func (s *Screen) sortBy(step int) {
	if s.table == nil {
		return
	}
	names := append([]string{""}, s.table.Names()...)
	i := (slices.Index(names, s.view.Sort) + step + len(names)) % len(names)
	s.view.Sort, s.view.From, s.turned = names[i], 0, false
}

// direct settles the direction: numbers begin with the largest. Only rows tell
// that it is numbers, which an interval may lack.
func (s *Screen) direct() {
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
func (s *Screen) suspend() {
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
