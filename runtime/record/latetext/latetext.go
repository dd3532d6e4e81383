// Package latetext finds texts that were not in memory when a system call began, and
// that a program sent when it ended (bpf/outbox/latetext.go). They come through a buffer
// of their own, in no order, and are looked for by the number that the record of the
// call has in place of the text. Often they are there before that record is read.
// Else, while the call may still run, they are waited for: for a moment, since there
// are calls that wait for hours. Package perf asks.
package latetext

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/record/ringbuf"
)

// Missing is how long a text of a record is that is still to come: the word for a
// missing one, and the call's number.
const Missing = 16

// The record of a text that was read later: the number, thread and process, address,
// length with the NUL, and the text.
const (
	NumberAt = 0
	TaskAt   = 8
	AddrAt   = 16
	LengthAt = 24
	TextAt   = 32
	Size     = TextAt + event.UserTextLimit + 1
)

// lateWait bounds how long a text is waited for, from when its call began; it is as
// long as a full ring may hold up others (package order).
const lateWait = 100 * time.Millisecond

// lateLook is the time between two looks.
const lateLook = 50 * time.Microsecond

// Texts are kept for lateKept at least, since several functions may ask for them; as
// soon as there are lateMost, older ones are forgotten.
const (
	lateKept = 10 * time.Second
	lateMost = 1 << 13
)

// A Key tells a text from all others: the number of its call, the process and thread as
// the kernel has them in one word, its address.
type Key struct{ Number, Task, Addr uint64 }

// Texts are the late texts of a source. Several goroutines may ask; without Open there are none.
type Texts struct {
	mu    sync.Mutex
	ring  ringbuf.Pages
	pos   uint64
	texts map[Key][]byte
	ended bool // nothing comes any more
}

// Open maps the buffer, of size bytes.
func (l *Texts) Open(fd, size int) (err error) {
	if l.ring, err = ringbuf.Map(fd, size); err != nil {
		return fmt.Errorf("map the buffer of texts: %w", err)
	}
	l.texts = map[Key][]byte{}
	return nil
}

// Number returns the number of the call at whose begin a text was missing; ok is false if the
// text, with its NUL, is none of those.
func Number(text []byte) (number uint64, ok bool) {
	const word = event.UserTextFault + "\x00"
	if len(text) != Missing || string(text[:len(word)]) != word {
		return 0, false
	}
	return binary.LittleEndian.Uint64(text[len(word):]), true
}

// monotonic is the clock of programs.
func monotonic() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("BUG: no monotonic clock: " + err.Error())
	}
	return uint64(ts.Nano())
}

// Drain takes what has come.
func (l *Texts) Drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take()
}

// take takes what has come, under the lock.
func (l *Texts) take() {
	if l.ring.Shared == nil {
		return
	}
	head := l.ring.Head()
	if head == l.pos {
		return
	}
	for l.pos < head {
		p := unsafe.Add(l.ring.Data, l.pos&l.ring.Mask)
		header := atomic.LoadUint32((*uint32)(p))
		if header&ringbuf.Busy != 0 {
			if header = ringbuf.Written((*uint32)(p)); header&ringbuf.Busy != 0 {
				break // the next look sees it, or nobody does
			}
		}
		length := uint64(header &^ ringbuf.Drop)
		if length != Size {
			l.pos = head
			break
		}
		l.pos += (length + ringbuf.Header + 7) &^ 7
		l.keep(unsafe.Slice((*byte)(unsafe.Add(p, ringbuf.Header)), length))
	}
	l.ring.Consume(l.pos)
}

// keep keeps the text of a record.
func (l *Texts) keep(rec []byte) {
	n := binary.LittleEndian.Uint64(rec[LengthAt:])
	if n == 0 || n > Size-TextAt {
		return
	}
	if len(l.texts) >= lateMost {
		l.forget(lateKept)
	}
	k := Key{
		binary.LittleEndian.Uint64(rec[NumberAt:]),
		binary.LittleEndian.Uint64(rec[TaskAt:]),
		binary.LittleEndian.Uint64(rec[AddrAt:]),
	}
	l.texts[k] = append([]byte(nil), rec[TextAt:TextAt+n-1]...)
}

// forget forgets texts of calls that began longer ago; if all are newer, half the
// time.
func (l *Texts) forget(age time.Duration) {
	now := monotonic()
	for ; len(l.texts) >= lateMost && age > 0; age /= 2 {
		for k := range l.texts {
			if k.Number+uint64(age) < now {
				delete(l.texts, k)
			}
		}
	}
}

// Text is a text that was missing when the call with a number began; false if it is
// missing still.
//
// Slow path: of a just started program, one call in three or four.
func (l *Texts) Text(k Key) ([]byte, bool) {
	for {
		l.mu.Lock()
		l.take()
		text, ok := l.texts[k]
		ended := l.ended || l.ring.Shared == nil
		l.mu.Unlock()
		if ok || ended || k.Number+uint64(lateWait) < monotonic() {
			return text, ok
		}
		time.Sleep(lateLook)
	}
}

// End says that nothing comes any more.
func (l *Texts) End() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
}

// Close gives the memory of the buffer back.
func (l *Texts) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ring.Unmap()
}
