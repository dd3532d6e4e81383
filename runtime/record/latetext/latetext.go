// Package latetext finds late texts: arguments of system calls that were not in memory
// when the call began. A program reads such a text when the call ends, and sends it
// through a separate buffer, in no particular order (bpf/outbox/latetext.go). The record
// of the call has a number in place of the text, by which the text is found. Often the
// text arrives before that record is read. Otherwise Text waits for it, but only for a
// moment, since some calls run for hours. Package perf uses it.
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

// Missing is the size, in bytes, of the entry that replaces a missing text in a
// record: a fixed word and the call's number.
const Missing = 16

// Offsets in the record of a late text: the call's number, thread and process,
// address, length with the NUL, and the text.
const (
	NumberAt = 0
	TaskAt   = 8
	AddrAt   = 16
	LengthAt = 24
	TextAt   = 32
	Size     = TextAt + event.UserTextLimit + 1
)

// lateWait bounds the wait for a text, counted from the begin of its call. It
// equals the time for which a full ring may delay others (package order).
const lateWait = 100 * time.Millisecond

// lateLook is the interval at which a wait checks the buffer.
const lateLook = 50 * time.Microsecond

// Texts are kept, since several functions may need one text. When there are lateMost
// texts, those older than lateKept are removed.
const (
	lateKept = 10 * time.Second
	lateMost = 1 << 13
)

// A Key identifies a text: the number of its call, the process and thread in one word
// like in the kernel, and its address.
type Key struct{ Number, Task, Addr uint64 }

// Texts are the late texts of a source. Several goroutines may use it. Without Open it has no
// texts.
type Texts struct {
	mu    sync.Mutex
	ring  ringbuf.Pages
	pos   uint64
	texts map[Key][]byte
	ended bool // no more texts will arrive
}

// Open maps the buffer, of size bytes.
func (l *Texts) Open(fd, size int) (err error) {
	if l.ring, err = ringbuf.Map(fd, size); err != nil {
		return fmt.Errorf("map the buffer of texts: %w", err)
	}
	l.texts = map[Key][]byte{}
	return nil
}

// Number returns the number of the call if text is the entry for a missing text; ok is false
// for other texts. text includes its NUL.
func Number(text []byte) (number uint64, ok bool) {
	const word = event.UserTextFault + "\x00"
	if len(text) != Missing || string(text[:len(word)]) != word {
		return 0, false
	}
	return binary.LittleEndian.Uint64(text[len(word):]), true
}

// monotonic returns the time on the clock of programs, in ns.
func monotonic() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("BUG: no monotonic clock: " + err.Error())
	}
	return uint64(ts.Nano())
}

// Drain reads the texts that have arrived.
func (l *Texts) Drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take()
}

// take reads the texts that have arrived. The caller holds the lock.
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
				break // incomplete: the next call tries again
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

// keep stores the text of a record.
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

// forget removes the texts of calls that began longer than age ago. It halves age
// until there is room.
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

// Text returns a late text, after a short wait if necessary; false if it is still
// missing.
//
// Slow path: in a program that has just started, one call in three or four has
// a missing text.
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

// End says that no more texts will arrive, so that Text does not wait.
func (l *Texts) End() {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
}

// Close unmaps the buffer.
func (l *Texts) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ring.Unmap()
}
