package perfetto

import (
	"encoding/hex"

	"ppscript/runtime/result"
	"ppscript/runtime/result/timeline"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/plain"
)

// This file assigns numbers to repeated names, frames and stacks (interning). A number is
// valid until the state of the sequence is cleared, which happens when there are too
// many.

// maxInterned bounds the number of interned values.
const maxInterned = 1 << 18

// Fields of InternedData.
const (
	internedEvent    = 2
	internedArg      = 3
	internedFunction = 5
	internedFrame    = 6
	internedStack    = 7
	internedBuild    = 16
	internedPath     = 17
	internedSource   = 18
	internedMapping  = 19
)

// numbers assigns numbers to values of one kind. It does not reuse numbers after they
// were cleared, since readers do not expect that a number changes its meaning.
type numbers[K comparable] struct {
	of   map[K]uint64
	last uint64
}

// number returns the number of a value; fresh says that it is new.
func (n *numbers[K]) number(k K) (id uint64, fresh bool) {
	if id = n.of[k]; id != 0 {
		return id, false
	}
	if n.of == nil {
		n.of = map[K]uint64{}
	}
	n.last++
	n.of[k] = n.last
	return n.last, true
}

// internTable numbers the names of events and arguments. fresh has the encoded new names, which are
// written with the next packet.
type internTable struct {
	fresh  []byte
	events numbers[string]
	args   []bool // by Arg.ID: whether the name was written
	last   string // the last name that was looked up; number is its number
	number uint64
}

func (n *internTable) event(name string) uint64 {
	if name == n.last && n.number != 0 {
		return n.number
	}
	id, fresh := n.events.number(name)
	if fresh {
		n.named(internedEvent, id, name)
	}
	n.last, n.number = name, id
	return id
}

func (n *internTable) arg(a *timeline.Arg) uint64 {
	for a.ID >= len(n.args) {
		n.args = append(n.args, false)
	}
	id := uint64(a.ID + 1)
	if !n.args[a.ID] {
		n.args[a.ID] = true
		n.named(internedArg, id, a.Name)
	}
	return id
}

// named adds {iid 1, name or str 2}. Names come from the observed system, so they are escaped.
func (n *internTable) named(field int, id uint64, name string) {
	n.fresh = appendBytes(n.fresh, field, appendText(appendUint(nil, 1, id), 2, []byte(plain.Line(name))))
}

// stacks numbers the stacks, and the frames, functions and files in them.
type stacks struct {
	numbers   map[stack.ID]uint64
	count     uint64 // number of stacks so far
	functions numbers[string]
	frames    numbers[frame]
	builds    numbers[string]
	paths     numbers[string]
	sources   numbers[string]
	mappings  numbers[mapping]
	line      []*result.Frame
}

type frame struct {
	function, mapping, pc, file uint64
	line                        int
	kernel                      bool
}

type mapping struct {
	build, path uint64
	segment     result.Segment
}

// clearState forgets all numbers, so that names are written again when they are
// used.
func (t *Writer) clearState() {
	n, s := &t.names, &t.stacks
	n.last, n.number, n.fresh = "", 0, n.fresh[:0]
	t.weight.named = false
	clear(n.args)
	s.numbers = map[stack.ID]uint64{}
	for _, of := range []*numbers[string]{&n.events, &s.functions, &s.builds, &s.paths, &s.sources} {
		clear(of.of)
	}
	clear(s.frames.of)
	clear(s.mappings.of)
}

func (t *Writer) full() bool {
	s := &t.stacks
	return len(s.numbers)+len(s.frames.of)+len(s.functions.of)+len(t.names.events.of) > maxInterned
}

// ForgetStacks implements timeline.Writer. Frames keep their numbers.
func (t *Writer) ForgetStacks() { clear(t.stacks.numbers) }

// stack returns the number of a stack; 0 if there is none.
func (t *Writer) stack(id stack.ID) uint64 {
	if id == stack.None || t.opt.Stacks == nil {
		return 0
	}
	s := &t.stacks
	if n := s.numbers[id]; n != 0 {
		return n
	}
	s.line, _ = t.opt.Stacks.Frames(s.line[:0], id)
	if len(s.line) == 0 {
		return 0
	}
	s.count++
	list := appendUint(nil, 1, s.count)
	for i := len(s.line) - 1; i >= 0; i-- { // outermost first
		list = appendUint(list, 2, t.frame(s.line[i]))
	}
	t.names.fresh = appendBytes(t.names.fresh, internedStack, list)
	s.numbers[id] = s.count
	return s.count
}

// text returns the number of a text, which is interned as {iid 1, str 2}; 0 for
// "".
func (t *Writer) text(of *numbers[string], field int, text string) uint64 {
	if text == "" {
		return 0
	}
	id, fresh := of.number(text)
	if fresh {
		t.names.named(field, id, text)
	}
	return id
}

// frame returns the number of a frame.
func (t *Writer) frame(f *result.Frame) uint64 {
	s := &t.stacks
	key := frame{
		function: t.text(&s.functions, internedFunction, f.Name()),
		mapping:  t.mapping(f),
		pc:       f.FileAddr,
		file:     t.text(&s.sources, internedSource, f.File),
		line:     f.Line,
		kernel:   f.Kernel,
	}
	if f.Segment == (result.Segment{}) {
		key.pc = f.Addr
	}
	id, fresh := s.frames.number(key)
	if !fresh {
		return id
	}
	const native, kernel = 1, 2
	m := appendUint(appendUint(nil, 1, id), 2, key.function)
	m = appendUint(appendUint(m, 3, key.mapping), 4, key.pc)
	if key.file != 0 {
		m = appendUint(appendUint(m, 5, key.file), 6, uint64(f.Line))
	}
	if f.Kernel {
		m = appendUint(m, 7, kernel)
	} else {
		m = appendUint(m, 7, native)
	}
	t.names.fresh = appendBytes(t.names.fresh, internedFrame, m)
	return id
}

// mapping returns the number of the mapping with a frame's file.
func (t *Writer) mapping(f *result.Frame) uint64 {
	s := &t.stacks
	path := f.DSO
	if path == "" {
		path = result.Unknown
	}
	key := mapping{path: t.text(&s.paths, internedPath, path), segment: f.Segment}
	if raw, err := hex.DecodeString(f.BuildID); err == nil && len(raw) > 0 {
		id, fresh := s.builds.number(f.BuildID)
		if fresh {
			one := appendBytes(appendUint(nil, 1, id), 2, raw)
			t.names.fresh = appendBytes(t.names.fresh, internedBuild, one)
		}
		key.build = id
	}
	id, fresh := s.mappings.number(key)
	if !fresh {
		return id
	}
	m := appendUint(nil, 1, id)
	if key.build != 0 {
		m = appendUint(m, 2, key.build)
	}
	if at := f.Segment; at.Size != 0 {
		m = appendUint(appendUint(m, 4, at.Addr), 5, at.Addr+at.Size)
	}
	t.names.fresh = appendBytes(t.names.fresh, internedMapping, appendUint(m, 7, key.path))
	return id
}
