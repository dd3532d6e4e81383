// Package screen shows results on a terminal like top: the table of each interval
// replaces the one before, and keys sort and scroll it. Results at the end of the
// run are printed normally, after the terminal is restored.
//
// Ctrl-C stays a signal, which ends the run as usual. Keys are read with a
// timeout, since a read that waits without limit could only be ended by a key.
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

// A Screen is a renderer that draws each table in place of the one before.
type Screen struct {
	out   io.Writer
	plain render.Renderer // for results after the last frame
	notes io.Writer
	quit  func()
	draw  *render.Screen
	loops loops

	mu       sync.Mutex // guards the members below: keys, signals and the session all draw
	tty      tty
	view     render.ScreenView
	turned   bool // the user reversed the direction of the sort
	table    *result.Table
	frame    []byte
	messages []string // to be printed at the end
	err      error
}

// A tty has the file descriptors of the terminal, and its mode before the
// screen changed it.
type tty struct {
	in, size int
	before   unix.Termios
	active   bool // the screen has changed the mode
}

// loops controls the goroutines that read keys and watch the terminal's size.
// They run until stop is closed.
type loops struct {
	stop   chan struct{}
	resize chan os.Signal
	ended  sync.WaitGroup
	once   sync.Once
}

// maxSaid bounds the number of messages that are kept for the end.
const maxSaid = 100

// New takes over the terminal shown; Close restores it. name and every are for
// the heading, quit is called for the key q.
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

// enter sets the terminal's mode and draws.
func (s *Screen) enter() error {
	t, err := unix.IoctlGetTermios(s.tty.in, unix.TCGETS)
	if err != nil {
		return err
	}
	s.tty.before = *t
	t.Lflag &^= unix.ICANON | unix.ECHO
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 0, 1
	t.Cc[unix.VSUSP] = 0 // Ctrl-Z arrives as a key, so that the terminal can be restored first
	if err := unix.IoctlSetTermios(s.tty.in, unix.TCSETSW, t); err != nil {
		return err
	}
	s.tty.active = true
	s.measure()
	s.frame = append(s.frame[:0], render.EnterScreen...)
	s.paint()
	return nil
}

// leave restores the terminal.
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

// redraw draws the frame if the screen is active.
func (s *Screen) redraw() {
	if s.tty.active {
		s.frame = s.frame[:0]
		s.paint()
	}
}

// paint appends the frame to the buffer and writes the buffer at once.
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

// Show implements render.Renderer. Tables of intervals are drawn as frames. All other
// results end the screen and are printed below the earlier content of the terminal.
func (s *Screen) Show(r result.Result) error {
	switch r := r.(type) {
	case *result.Heatmap:
		return nil // shown only in files
	case *result.Table:
		if r.Histogram() < 0 {
			return s.show(r)
		}
	}
	s.Close()
	return s.plain.Show(r)
}

// show draws the table of an interval, unless the user has paused the display.
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

// last prints the final table below the earlier content of the terminal. If it
// has no rows, the table of the last frame is printed instead.
func (s *Screen) last(t *result.Table) error {
	s.Close()
	if len(t.Rows) == 0 && s.table != nil {
		t = s.table
	}
	s.table = t
	s.direct()
	if s.view.Sort != "" {
		// If the column no longer exists, the order stays.
		_ = t.Sort(s.view.Sort, s.view.Reverse)
	}
	return s.plain.Show(t)
}

// Note implements render.Renderer: it shows the note in the line for messages.
func (s *Screen) Note(kind string, fields ...render.NoteField) error {
	line := kind + ":"
	for _, f := range fields {
		line += " " + f.Name + "=" + f.Value.String()
	}
	s.Say(line)
	return s.err
}

// Flush implements render.Renderer. Frames need no flush.
func (s *Screen) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tty.active || s.err != nil {
		return s.err
	}
	return s.plain.Flush()
}

// Say shows a message in its line, and prints it again when the screen ends.
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

// tell prints the messages that were kept.
func (s *Screen) tell() {
	for _, line := range s.messages {
		io.WriteString(s.notes, "ppscript: "+line+"\n")
	}
	s.messages = nil
}

// Close restores the terminal and prints the messages. It may be called more
// than once. It first stops the reader of keys, because in the restored mode a
// read would wait for a line.
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
			return // the terminal was closed; SIGHUP ends the run
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

// nextKey splits the first key from the input s: a byte, or the escape sequence
// of a special key.
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

// obey executes the command of a key.
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

// sortBy sorts by the next column (step 1) or the one before (-1). Before the
// first column comes the order of the script.
func (s *Screen) sortBy(step int) {
	if s.table == nil {
		return
	}
	names := append([]string{""}, s.table.Names()...)
	i := (slices.Index(names, s.view.Sort) + step + len(names)) % len(names)
	s.view.Sort, s.view.From, s.turned = names[i], 0, false
}

// direct decides the direction of the sort: numbers begin with the largest,
// unless the user reversed it. Whether a column has numbers is known only from
// its rows, and an interval may have none, so this is decided for each frame.
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

// suspend stops the process as Ctrl-Z does for other programs. The threads stop
// a short time after the signal. The kernel ignores the signal if no shell could
// continue the process, so the wait has a limit.
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
