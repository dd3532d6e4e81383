package stack

import (
	"hash/maphash"
	"math/bits"
	"unsafe"

	"ppscript/runtime/event"
)

// This file numbers stacks. A stack is identified by its process and the words
// of its chain, including markers. A known stack costs a hash over its words
// and a comparison, and is not copied. (Hashing while walking, or a map keyed
// by a string of the words, costs more than the rest of the sample.)
//
// Stacks with only kernel code belong to no process, so that they are equal for
// all processes.

// An ID is the number of a stack in its Table.
type ID uint32

const (
	// None is the number for events without a stack.
	None ID = iota
	// Full is the number for stacks that found no room in the table.
	Full
	first // first number of a real stack
)

// Default bounds of a Table: 64 MiB of addresses.
const (
	DefaultStacks = 1 << 18
	DefaultWords  = 8 << 20
)

// Options of a Table.
type Options struct {
	Stacks int // largest number of stacks; 0: DefaultStacks
	Words  int // addresses and markers of all stacks; 0: DefaultWords
	// Fresh is called for each new stack with user addresses, soon after it was
	// sampled, so that the code that names them later can read the process while
	// it exists. It may be nil.
	Fresh func(pid int32, when event.Time)
}

// A Table numbers stacks. It is used by one goroutine.
type Table struct {
	opt     Options
	seed    maphash.Seed
	slots   []slot
	shift   uint
	entries []entry
	blocks  [][]uint64
	spare   [][]uint64 // blocks kept for reuse
	words   int
	unused  []ID   // numbers that Retain freed
	omitted [2]int // stacks and words that the last Retain left
	evicted uint64
	scratch
	images  map[int32]uint32 // number of programs that a process has run after the first
	without uint64           // events without a stack
}

type slot struct {
	hash uint32
	id   uint32 // 0 is an empty slot
}

type entry struct {
	when  event.Time
	pid   int32
	image uint32
	at    uint32 // position of its words: block and offset
	n     uint16
	flags flags
}

type flags uint8

const (
	unwound flags = 1 << iota // the user part was found with unwind tables
	cut                       // outer frames are missing
)

// A Stack is the entry of a Table for an ID. Chain is a view until Reset.
type Stack struct {
	// PID is the process of the user addresses, -1 if there are none.
	PID int32
	// Image is the number of programs that the process had run before.
	Image uint32
	// When is the time of the first event with this stack.
	When event.Time
	// Chain is the chain in the kernel's form; see Each.
	Chain []uint64
	// Unwound says that the user part was found by unwind tables, not by frame
	// pointers.
	Unwound bool
	// Cut says that outer frames are missing.
	Cut bool
}

const blockWords = 1 << 16

// scratch is the current chain, for Number and NumberWoven.
type scratch struct{ parts, woven []uint64 }

// New returns an empty Table.
func New(o Options) *Table {
	if o.Stacks <= 0 {
		o.Stacks = DefaultStacks
	}
	if o.Words <= 0 {
		o.Words = DefaultWords
	}
	t := &Table{opt: o, seed: maphash.MakeSeed()}
	t.alloc(1 << 10)
	return t
}

func (t *Table) alloc(n int) {
	t.slots = make([]slot, n)
	t.shift = uint(32 - bits.TrailingZeros(uint(n)))
}

// bytesOf returns a view of words as bytes.
func bytesOf(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// Intern returns the number of a stack. The chain is copied if it is new.
//
// Fast path: this runs per sample.
func (t *Table) Intern(pid int32, when event.Time, chain []uint64) ID {
	return t.intern(pid, when, chain, 0)
}

func (t *Table) intern(pid int32, when event.Time, chain []uint64, fl flags) ID {
	if len(chain) == 0 || len(chain) > 1<<16-1 {
		t.without++
		return None
	}
	var image uint32
	if !hasUser(chain) {
		pid = -1
	} else if len(t.images) > 0 {
		image = t.images[pid]
	}
	return t.number(pid, image, when, chain, fl)
}

// Number is Intern for a stack whose kernel and user part are separate, and for
// which image, the number of earlier programs of the process, is known. A part
// with most addresses counts as cut.
func (t *Table) Number(pid int32, image uint32, when event.Time, kernel, user []uint64, most int) ID {
	return t.NumberWoven(pid, image, when, kernel, user, most, nil)
}

// NumberWoven is Number for a stack to whose chain weave adds interpreted functions: weave appends
// the new chain to dst. If it is nil or returns false, the chain is unchanged.
func (t *Table) NumberWoven(pid int32, image uint32, when event.Time, kernel, user []uint64, most int,
	weave func(dst, chain []uint64) ([]uint64, bool),
) ID {
	if len(kernel)+len(user) == 0 {
		t.without++
		return None
	}
	var fl flags
	if len(kernel)+len(user) >= most {
		fl = cut
	}
	t.parts = t.parts[:0]
	if len(kernel) > 0 {
		t.parts = append(append(t.parts, markKernel), kernel...)
	}
	if len(user) > 0 {
		t.parts = append(append(t.parts, markUser), user...)
	} else {
		pid, image = -1, 0
	}
	if weave != nil {
		if woven, ok := weave(t.woven[:0], t.parts); ok {
			t.woven = woven
			return t.number(pid, image, when, woven, fl)
		}
	}
	return t.number(pid, image, when, t.parts, fl)
}

// Unwound records that the user part of a stack was found by unwind tables.
func (t *Table) Unwound(id ID) {
	if i := int(id) - int(first); i >= 0 && i < len(t.entries) && t.entries[i].n > 0 {
		t.entries[i].flags |= unwound
	}
}

// Named is Intern for a stack whose places have names. The caller numbers the
// places from 1. It belongs to no process.
func (t *Table) Named(when event.Time, places []uint64, wasCut, wasUnwound bool) ID {
	if len(places) == 0 || len(places) >= 1<<16-1 {
		return None
	}
	var fl flags
	if wasCut {
		fl |= cut
	}
	if wasUnwound {
		fl |= unwound
	}
	t.parts = append(append(t.parts[:0], markNamed), places...)
	return t.number(-1, 0, when, t.parts, fl)
}

func (t *Table) hash(pid int32, image uint32, chain []uint64) uint32 {
	sum := maphash.Bytes(t.seed, bytesOf(chain)) ^ (uint64(uint32(pid))|uint64(image)<<32)*0x9E3779B97F4A7C15
	return uint32(sum>>32) ^ uint32(sum)
}

func (t *Table) number(pid int32, image uint32, when event.Time, chain []uint64, fl flags) ID {
	h := t.hash(pid, image, chain)
	mask := uint32(len(t.slots) - 1)
	i := h >> t.shift
	for ; t.slots[i&mask].id != 0; i++ {
		s := t.slots[i&mask]
		if s.hash != h {
			continue
		}
		e := &t.entries[s.id-uint32(first)]
		if e.pid == pid && e.image == image && string(bytesOf(t.chain(e))) == string(bytesOf(chain)) {
			return ID(s.id)
		}
	}
	return t.add(h, entry{when: when, pid: pid, image: image, n: uint16(len(chain)), flags: fl}, chain)
}

// Slow path: a new stack.
func (t *Table) add(h uint32, e entry, chain []uint64) ID {
	if t.Len() >= t.opt.Stacks || t.words+len(chain) > t.opt.Words {
		t.evicted++
		return Full
	}
	if 2*(t.Len()+1) > len(t.slots) {
		t.grow()
	}
	e.at = t.keep(chain)
	var id ID
	if n := len(t.unused); n > 0 {
		id, t.unused = t.unused[n-1], t.unused[:n-1]
		t.entries[id-first] = e
	} else {
		t.entries = append(t.entries, e)
		id = ID(len(t.entries)-1) + first
	}
	t.put(slot{h, uint32(id)})
	t.look(&e)
	return id
}

// keep copies the words of a chain, and returns their position.
func (t *Table) keep(chain []uint64) uint32 {
	last := len(t.blocks) - 1
	if last < 0 || len(t.blocks[last])+len(chain) > cap(t.blocks[last]) {
		t.blocks = append(t.blocks, t.block())
		last++
	}
	at := uint32(last*blockWords + len(t.blocks[last]))
	t.blocks[last] = append(t.blocks[last], chain...)
	t.words += len(chain)
	return at
}

func (t *Table) block() []uint64 {
	last := len(t.spare) - 1
	if last < 0 {
		return make([]uint64, 0, blockWords)
	}
	b := t.spare[last][:0]
	t.spare = t.spare[:last]
	return b
}

func (t *Table) look(e *entry) {
	if t.opt.Fresh != nil && e.pid >= 0 {
		t.opt.Fresh(e.pid, e.when)
	}
}

func (t *Table) put(s slot) {
	mask := uint32(len(t.slots) - 1)
	i := s.hash >> t.shift
	for t.slots[i&mask].id != 0 {
		i++
	}
	t.slots[i&mask] = s
}

func (t *Table) grow() {
	old := t.slots
	t.alloc(2 * len(old))
	for _, s := range old {
		if s.id != 0 {
			t.put(s)
		}
	}
}

func (t *Table) chain(e *entry) []uint64 { return chainIn(t.blocks, e) }

func chainIn(blocks [][]uint64, e *entry) []uint64 {
	at := int(e.at % blockWords)
	return blocks[e.at/blockWords][at : at+int(e.n) : at+int(e.n)]
}

// At returns a stack; false for None, Full, and numbers that are not valid any
// more.
func (t *Table) At(id ID) (Stack, bool) {
	if id < first || int(id-first) >= len(t.entries) || t.entries[id-first].n == 0 {
		return Stack{}, false
	}
	e := &t.entries[id-first]
	return Stack{
		PID:     e.pid,
		Image:   e.image,
		When:    e.when,
		Chain:   t.chain(e),
		Unwound: e.flags&unwound != 0,
		Cut:     e.flags&cut != 0,
	}, true
}

// Len is the number of stacks.
func (t *Table) Len() int { return len(t.entries) - len(t.unused) }

// Words is the number of addresses and markers in them.
func (t *Table) Words() int { return t.words }

// Without counts the events without a stack.
func (t *Table) Without() uint64 { return t.without }

// Evicted counts the events since Reset whose stack found no room.
func (t *Table) Evicted() uint64 { return t.evicted }

// Exec records that a process runs another program from now on, so that its
// addresses stand for other code.
func (t *Table) Exec(pid int32) {
	if t.images == nil {
		t.images = make(map[int32]uint32)
	}
	const most = 1 << 16 // processes; beyond that, stacks of their programs are not distinguished
	if len(t.images) < most {
		t.images[pid]++
	}
}
