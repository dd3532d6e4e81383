package tty

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal reads single keys from a terminal device. Its mode is changed
// between enter and leave.
type terminal struct {
	in, out int
	before  unix.Termios
	raw     bool
	wake    [2]int // a pipe: a byte in it wakes the reader of keys
	resized chan os.Signal
	done    chan struct{}
	buf     []byte // read but not yet decoded
	single  bool   // read one byte at a time, since others read the rest
}

// The bytes that are written to the pipe.
const (
	wokenBySize = 's'
	wokenToEnd  = 'e'
)

// openTerminal prepares to read keys from in and to write to out. It does not
// change the terminal's mode.
func openTerminal(in, out *os.File) (*terminal, error) {
	t := &terminal{
		in: int(in.Fd()), out: int(out.Fd()),
		resized: make(chan os.Signal, 1), done: make(chan struct{}),
	}
	if err := unix.Pipe2(t.wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, err
	}
	signal.Notify(t.resized, unix.SIGWINCH)
	go func() {
		defer close(t.done)
		for range t.resized {
			t.poke(wokenBySize)
		}
	}()
	return t, nil
}

func (t *terminal) close() {
	signal.Stop(t.resized)
	close(t.resized)
	<-t.done
	unix.Close(t.wake[0])
	unix.Close(t.wake[1])
}

// poke wakes the reader of keys. Any goroutine may call it. If the pipe is full,
// the reader is awake already.
func (t *terminal) poke(b byte) { _, _ = unix.Write(t.wake[1], []byte{b}) }

// enter sets the mode in which each key is delivered at once, without echo. Output
// processing stays on, since messages of the run may be printed at any time.
func (t *terminal) enter() error {
	if t.raw {
		return nil
	}
	mode, err := unix.IoctlGetTermios(t.in, unix.TCGETS)
	if err != nil {
		return err
	}
	t.before = *mode
	mode.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR | unix.IXON | unix.ISTRIP | unix.BRKINT
	mode.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG | unix.IEXTEN
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(t.in, unix.TCSETS, mode); err != nil {
		return err
	}
	t.raw = true
	return nil
}

// leave restores the terminal's mode.
func (t *terminal) leave() error {
	if !t.raw {
		return nil
	}
	t.raw = false
	return unix.IoctlSetTermios(t.in, unix.TCSETSW, &t.before)
}

func (t *terminal) write(text []byte) error {
	for len(text) > 0 {
		n, err := unix.Write(t.out, text)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// size returns the size of the terminal in cells; 80 by 24 if it is not known.
func (t *terminal) size() (width, height int) {
	ws, err := unix.IoctlGetWinsize(t.out, unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 || ws.Row == 0 {
		return 80, 24
	}
	return int(ws.Col), int(ws.Row)
}

// A waitResult says how a wait for keys ended.
type waitResult int

const (
	gotKeys waitResult = iota
	gotSize            // the terminal has another size
	gotEnd             // there are no more keys
	gotNothing
)

// wait waits for bytes and appends them to buf. atMost bounds the wait; 0: no
// bound.
func (t *terminal) wait(atMost time.Duration) waitResult {
	timeout := -1
	if atMost > 0 {
		timeout = int(atMost.Milliseconds())
	}
	fds := []unix.PollFd{{Fd: int32(t.in), Events: unix.POLLIN}, {Fd: int32(t.wake[0]), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, timeout)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return gotEnd
		}
		if n == 0 {
			return gotNothing
		}
		break
	}
	var b [4096]byte
	if fds[1].Revents != 0 {
		n, _ := unix.Read(t.wake[0], b[:])
		for _, why := range b[:max(n, 0)] {
			if why == wokenToEnd {
				return gotEnd
			}
		}
		return gotSize
	}
	room := b[:]
	if t.single {
		room = b[:1]
	}
	n, err := unix.Read(t.in, room)
	switch {
	case err == unix.EINTR || err == unix.EAGAIN:
		return gotNothing
	case err != nil || n <= 0:
		return gotEnd
	}
	t.buf = append(t.buf, b[:n]...)
	return gotKeys
}

// escapeTime bounds the wait for the rest of an escape sequence. After it, the byte was the
// key Escape.
const escapeTime = 50 * time.Millisecond

// key returns the next key. It calls settle before it waits, to show the typed text.
func (t *terminal) key(settle func() error) (key, error) {
	for {
		k, n := decode(t.buf, false)
		if n > 0 {
			t.buf = t.buf[n:]
			if k.kind != keyNone {
				return k, nil
			}
			continue
		}
		if err := settle(); err != nil {
			return key{}, err
		}
		begun := time.Duration(0)
		if len(t.buf) > 0 && !pasting(t.buf) {
			begun = escapeTime
		}
		switch t.wait(begun) {
		case gotSize:
			return key{kind: keyResize}, nil
		case gotEnd:
			return key{kind: keyEnd}, nil
		case gotNothing:
			if begun > 0 {
				k, n := decode(t.buf, true)
				t.buf = t.buf[n:]
				if k.kind != keyNone {
					return k, nil
				}
			}
		}
	}
}
