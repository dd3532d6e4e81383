package firefox

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/timeline"
	"ppscript/runtime/stack"
)

// texts is a table of numbered texts.
type texts struct {
	list []string
	of   map[string]int
}

func (t *texts) number(s string) int {
	n, known := t.of[s]
	if !known {
		if t.of == nil {
			t.of = map[string]int{}
		}
		n = len(t.list)
		t.list, t.of[s] = append(t.list, s), n
	}
	return n
}

// none marks an empty cell in columns of numbers.
const none = -1

// A thread has its own tables, as the format requires.
type thread struct {
	pid, tid int32
	name     string
	track    *timeline.Track
	texts    texts
	samples  samples
	markers  markers

	functions  rows[function]
	frames     rows[frame]
	stacks     rows[node]
	resources  rows[int] // libs
	stackIndex map[stack.ID]int
}

// rows has the distinct rows of a table.
type rows[K comparable] struct {
	list []K
	of   map[K]int
}

func (r *rows[K]) number(k K) int {
	n, known := r.of[k]
	if !known {
		if r.of == nil {
			r.of = map[K]int{}
		}
		n = len(r.list)
		r.list, r.of[k] = append(r.list, k), n
	}
	return n
}

type function struct{ name, resource, file int }

type frame struct {
	function, line, inline, category int
	address                          uint64
}

type node struct{ prefix, frame, category int }

type samples struct {
	at    []event.Time
	stack []int32
}

func (s *samples) add(at event.Time, stack int) {
	s.at, s.stack = append(s.at, at), append(s.stack, int32(stack))
}

type markers struct {
	name       []int32
	begin, end []event.Time // end is -1 for an instant
	data       []block
}

// A block has the data of some markers: adjacent JSON objects in text, and the end of each in
// ends. A single block for all markers would be copied each time that it grows.
type block struct {
	text []byte
	ends []uint32
}

const blockBytes = 1 << 18

// room returns the block for the next marker.
func (m *markers) room() *block {
	if n := len(m.data); n > 0 && len(m.data[n-1].text) < blockBytes {
		return &m.data[n-1]
	}
	size := 0
	if len(m.data) > 0 {
		size = blockBytes + blockBytes/16 // a thread with many markers; most threads have few
	}
	m.data = append(m.data, block{text: make([]byte, 0, size)})
	return &m.data[len(m.data)-1]
}

// marker adds a marker from one time to another; to is -1 for an instant.
func (t *thread) marker(p *Writer, it *timeline.Item, from, to event.Time) {
	k, m := p.kind(it), &t.markers
	m.name = append(m.name, int32(t.texts.number(it.Name)))
	m.begin, m.end = append(m.begin, from), append(m.end, to)
	in := m.room()
	b := appendString(append(in.text, `{"type":`...), k.name)
	if it.Event != nil {
		b = strconv.AppendInt(append(b, `,"cpu":"`...), int64(it.Event.CPU), 10)
		b = append(b, '"')
	}
	if it.Kind == timeline.Wakeup {
		b = strconv.AppendInt(append(b, `,"woken":"`...), it.Sched.Next.TID, 10)
		b = append(b, '"')
	}
	if s := t.stack(p, it.Stack); s != none {
		b = strconv.AppendInt(append(b, `,"cause":{"stack":`...), int64(s), 10)
		b = append(b, '}')
	}
	in.text = append(appendArgs(b, it), '}')
	in.ends = append(in.ends, uint32(len(in.text)))
}

// stack returns the number of a stack in the thread's table.
func (t *thread) stack(p *Writer, id stack.ID) int {
	if id == stack.None || p.opt.Stacks == nil {
		return none
	}
	if n, known := t.stackIndex[id]; known {
		return n
	}
	p.line, _ = p.opt.Stacks.Frames(p.line[:0], id)
	at, depth := none, 0
	for i := len(p.line) - 1; i >= 0; i-- {
		if depth++; !p.line[i].Inline {
			depth = 0
		}
		f := t.frame(p, p.line[i], depth)
		at = t.stacks.number(node{at, f, t.frames.list[f].category})
	}
	t.stackIndex[id] = at
	return at
}

// Indexes in categories.
const (
	other = iota
	user
	kernel
)

// frame returns the number of a frame; depth is the number of calls that it is
// inlined into.
func (t *thread) frame(p *Writer, f *result.Frame, depth int) int {
	lib := none
	if f.DSO != "" {
		if lib = p.libs.names.number(f.DSO); lib == len(p.libs.builds) {
			p.libs.builds = append(p.libs.builds, f.BuildID)
		}
	}
	fn := function{name: t.texts.number(f.Name()), resource: none, file: none}
	if lib != none {
		fn.resource = t.resources.number(lib)
	}
	if f.File != "" {
		fn.file = t.texts.number(f.File)
	}
	row := frame{function: t.functions.number(fn), line: f.Line, category: user, inline: depth,
		address: f.FileAddr}
	if f.Kernel {
		row.category = kernel
	}
	return t.frames.number(row)
}
