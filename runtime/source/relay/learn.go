package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"
)

// Stacks are the stacks that a sender has defined.
//
// Their memory is bounded. When Find is called for a sample of an epoch, only
// this epoch and the previous one are kept, since only events that were kept
// for long refer to older ones. While Find is not called (for a recording that
// is far ahead of others), the oldest epochs are dropped at the bound.
type Stacks struct {
	bound   int
	events  map[uint64]bool // ids of events with stacks
	epochs  []*epoch        // in the order of their numbers
	size    int             // of all epochs, in bytes
	idle    bool            // Find is never called
	version uint64          // of the sender's stacks, if it is not supported; else 0
}

// An epoch has the definitions between two begins.
type epoch struct {
	number uint32
	size   int
	texts  []string
	places []*Place
	stacks []*Stack
}

// Bounds on the memory for a sender's stacks, in bytes: the default, and the
// least, which has room for one epoch of any sender.
const (
	defaultLearnt = 256 << 20
	leastLearnt   = 16 * maxDefinitions
)

// NewStacks returns an empty Stacks; bound is in bytes, 0 means the default.
func NewStacks(bound int) *Stacks {
	if bound <= 0 {
		bound = defaultLearnt
	}
	return &Stacks{bound: max(bound, leastLearnt), events: map[uint64]bool{}}
}

// Carries reports that samples of an event with these ids have the number of a
// stack.
func (s *Stacks) Carries(ids []uint64) bool {
	for _, id := range ids {
		if s.events[id] {
			return true
		}
	}
	return false
}

// Newer returns the version of the sender's stacks if it is not supported, so
// that events have no stacks; else 0.
func (s *Stacks) Newer() uint64 { return s.version }

// Ignore says that Find will not be called, so that nothing is kept.
func (s *Stacks) Ignore() { s.idle, s.epochs, s.size = true, nil, 0 }

// Find returns a stack; nil if it is unknown or was dropped.
//
// Fast path: the sample is of the last or the previous epoch.
func (s *Stacks) Find(number uint64) *Stack {
	for i := len(s.epochs) - 1; i >= 0; i-- {
		e := s.epochs[i]
		if e.number != uint32(number>>32) {
			continue
		}
		for ; i > 1; i-- {
			s.forget()
		}
		if n := uint32(number); n > 0 && int64(n) <= int64(len(e.stacks)) {
			return e.stacks[n-1]
		}
		return nil
	}
	return nil
}

// forget drops the oldest epoch.
func (s *Stacks) forget() {
	s.size -= s.epochs[0].size
	s.epochs[0] = nil
	s.epochs = s.epochs[1:]
}

// update reads an EVENT_UPDATE record of the relay; it ignores other kinds.
func (s *Stacks) update(kind, id uint64, body []byte) error {
	if kind&(1<<kindVersion-1) != stackKind {
		return nil
	}
	if v := kind >> kindVersion; v != stackVersion {
		s.version = v
		return nil
	}
	s.events[id] = true
	if s.idle {
		return nil
	}
	d := &decoder{b: body}
	for len(d.b) > 0 && d.err == nil {
		switch kind := d.number(); kind {
		case defEnd:
			return d.padding()
		case defBegin:
			s.begin(d)
		case defText, defPlace, defStack:
			if len(s.epochs) == 0 {
				return errors.New("stacks: a definition before the first epoch")
			}
			s.define(d, kind)
		default:
			return fmt.Errorf("stacks: kind of definition: got %d, want at most %d", kind, defBegin)
		}
	}
	return d.err
}

func (s *Stacks) begin(d *decoder) {
	n := d.number()
	last := uint64(0)
	if k := len(s.epochs); k > 0 {
		last = uint64(s.epochs[k-1].number)
	}
	if d.err == nil && (n <= last || n > 1<<32-1) {
		d.err = fmt.Errorf("stacks: epoch: got %d after %d", n, last)
	}
	if d.err == nil {
		s.epochs = append(s.epochs, &epoch{number: uint32(n)})
	}
}

func (s *Stacks) define(d *decoder, kind uint64) {
	e := s.epochs[len(s.epochs)-1]
	before := e.size
	switch kind {
	case defText:
		t := string(d.take(d.count(maxText, 1)))
		e.texts = append(e.texts, t)
		e.size += len(t) + int(unsafe.Sizeof(t))
	case defPlace:
		p := &Place{In: World(d.below(uint64(InUser) + 1)), Addr: d.number()}
		p.Functions = make([]Function, d.count(maxFrames, 7))
		for i := range p.Functions {
			f := &p.Functions[i]
			f.Name, f.Offset = d.text(e), d.number()
			f.File, f.BuildID, f.Source = d.text(e), d.text(e), d.text(e)
			f.Line = int(d.below(1 << 31))
			flags := d.number()
			f.Inline, f.Kernel = flags&flagInline != 0, flags&flagKernel != 0
		}
		e.places = append(e.places, p)
		e.size += int(unsafe.Sizeof(*p)) + len(p.Functions)*int(unsafe.Sizeof(Function{})) + 8
	case defStack:
		flags := d.number()
		st := &Stack{
			Cut:     flags&flagCut != 0,
			Unwound: flags&flagUnwound != 0,
			Places:  make([]*Place, d.count(maxPlaces, 1)),
		}
		for i := range st.Places {
			if n := d.below(uint64(len(e.places)) + 1); n > 0 {
				st.Places[i] = e.places[n-1]
			} else if d.err == nil {
				d.err = errors.New("stacks: a stack of a place that was not defined")
			}
		}
		e.stacks = append(e.stacks, st)
		e.size += int(unsafe.Sizeof(*st)) + 8*len(st.Places) + 8
	}
	s.size += e.size - before
	for s.size > s.bound && len(s.epochs) > 1 {
		s.forget()
	}
	if s.size > s.bound && d.err == nil {
		d.err = fmt.Errorf("stacks: got more than %d bytes of them in one epoch", s.bound)
	}
}

// A decoder reads numbers from the front of b. It keeps the first error.
type decoder struct {
	b   []byte
	err error
}

var errShort = errors.New("stacks: a definition is cut")

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if d.err == nil && size <= 0 {
		d.err = errShort
	}
	if d.err != nil {
		return 0
	}
	d.b = d.b[size:]
	return n
}

// below reads a number that must be less than limit.
func (d *decoder) below(limit uint64) uint64 {
	n := d.number()
	if n >= limit {
		if d.err == nil {
			d.err = fmt.Errorf("stacks: got number %d, want less than %d", n, limit)
		}
		return 0
	}
	return n
}

// count reads the number of entries that follow, each of size bytes or more; at
// most most.
func (d *decoder) count(most, size int) int {
	n := d.below(uint64(most) + 1)
	if n*uint64(size) > uint64(len(d.b)) {
		if d.err == nil {
			d.err = errShort
		}
		return 0
	}
	return int(n)
}

func (d *decoder) take(n int) []byte {
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) text(e *epoch) string {
	n := d.below(uint64(len(e.texts)) + 1)
	if n == 0 {
		return ""
	}
	return e.texts[n-1]
}

// padding checks that only zeros are left.
func (d *decoder) padding() error {
	for _, b := range d.b {
		if b != 0 {
			return errors.New("stacks: got a definition of kind 0")
		}
	}
	return nil
}
