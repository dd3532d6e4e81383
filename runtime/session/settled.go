package session

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// This file keeps what was counted by stack when the stacks themselves are let
// go: by the names of their functions, which are the same in all processes of a
// program.
//
// Stacks share their outer functions, so they are kept as a tree, 8 bytes for
// each function and what is found by it. (As lists of frames they took four
// times as much, and each settling compared all of them again.)

// mostSettled bounds the stacks of a count; a picture of as many is not read by
// anybody.
const mostSettled = stack.DefaultStacks / 4

// A settled is what a count by stack had before, since the last result.
type settled struct {
	names   []*result.Frame
	name    map[uint64]uint32 // in names, by their hash
	seed    maphash.Seed
	nodes   []node          // the first stands for no function
	node    map[node]uint32 // in nodes
	keys    [][]event.Value
	key     map[string]uint32 // in keys
	samples []tally
	at      map[path]uint32 // in samples
	pack    []byte

	cut, unwound uint64
	loss         event.Loss
}

// A node is a function that another one called.
type node struct{ caller, name uint32 }

// A path is a stack by its innermost function, and what tells samples of it
// apart.
type path struct {
	inner, key uint32
	cut        bool
}

// A tally is the samples of a path.
type tally struct {
	path
	pid   int32 // -1 if several processes have it
	count uint64
	value int64
}

func newSettled() *settled {
	s := &settled{seed: maphash.MakeSeed()}
	s.reset()
	return s
}

func (s *settled) reset() {
	s.names, s.name = nil, map[uint64]uint32{}
	s.nodes, s.node = []node{{}}, map[node]uint32{}
	s.keys, s.key = nil, map[string]uint32{}
	s.samples, s.at = nil, map[path]uint32{}
}

// names is how the frames of results are called here.
type names struct {
	shown shown
	of    map[*result.Frame]uint32
}

func newNames(s shown) *names { return &names{s, map[*result.Frame]uint32{}} }

// shown is what will be seen of a frame.
type shown uint8

const (
	// all but the address of what has a name: it is that of one process.
	all shown = iota
	// inPictures is not where in a function the code was, of which a profile
	// has many for each chain of functions.
	inPictures
	// inText is one word: functions of one name in several files are the same.
	inText
)

func (n *names) plain(f *result.Frame) result.Frame {
	switch {
	case n.shown == inText && f.Symbol != "":
		return result.Frame{Symbol: f.Symbol}
	case n.shown != all:
		return result.Frame{Symbol: f.Symbol, DSO: f.DSO, Inline: f.Inline, Kernel: f.Kernel}
	}
	same := *f
	if f.Symbol != "" || f.DSO != "" {
		same.Addr = 0
	}
	return same
}

func (s *settled) nameOf(n *names, f *result.Frame) uint32 {
	if i, ok := n.of[f]; ok {
		return i
	}
	same := n.plain(f)
	h := maphash.Comparable(s.seed, same)
	i, ok := s.name[h]
	for ; ok && n.plain(s.names[i]) != same; i, ok = s.name[h] {
		h++ // that of another frame
	}
	if !ok {
		i = uint32(len(s.names))
		s.name[h] = i
		first := f // with its address
		if n.shown != all {
			first = &same
		}
		s.names = append(s.names, first)
	}
	n.of[f] = i
	return i
}

// add counts a sample, of which nothing is kept but names.
func (s *settled) add(n *names, x *result.StackSample) {
	inner := uint32(0)
	for i := range slices.Backward(x.Frames) {
		inner = s.nodeOf(node{inner, s.nameOf(n, x.Frames[i])})
	}
	s.count(path{inner, s.keyOf(x.Key), x.Cut}, &tally{pid: x.PID, count: x.Count, value: x.Value})
}

func (s *settled) nodeOf(n node) uint32 {
	i, ok := s.node[n]
	if !ok {
		i = uint32(len(s.nodes))
		s.node[n] = i
		s.nodes = append(s.nodes, n)
	}
	return i
}

// count adds the numbers of a tally to those of a path.
func (s *settled) count(at path, more *tally) {
	i, ok := s.at[at]
	if !ok {
		s.at[at] = uint32(len(s.samples))
		s.samples = append(s.samples, tally{at, more.pid, more.count, more.value})
		return
	}
	t := &s.samples[i]
	if t.pid != more.pid {
		t.pid = -1
	}
	t.count += more.count
	t.value += more.value
}

func (s *settled) keyOf(key []event.Value) uint32 {
	packed := s.packed(key)
	i, ok := s.key[string(packed)]
	if !ok {
		i = uint32(len(s.keys))
		s.key[string(packed)] = i
		s.keys = append(s.keys, slices.Clone(key))
	}
	return i
}

// packed is a key as bytes, valid until the next call.
func (s *settled) packed(key []event.Value) []byte {
	s.pack = s.pack[:0]
	for _, v := range key {
		text := v.String()
		s.pack = append(binary.AppendUvarint(append(s.pack, byte(v.Kind)), uint64(len(text))), text...)
	}
	return s.pack
}

// list is the samples, independent of s but for their frames.
func (s *settled) list() []result.StackSample {
	out := make([]result.StackSample, len(s.samples))
	for i := range s.samples {
		t := &s.samples[i]
		out[i] = result.StackSample{Key: s.keys[t.key], PID: t.pid, Count: t.count, Value: t.value, Cut: t.cut, Frames: s.frames(t.inner)}
	}
	return out
}

func (s *settled) frames(inner uint32) []*result.Frame {
	depth := 0
	for at := inner; at != 0; at = s.nodes[at].caller {
		depth++
	}
	frames := make([]*result.Frame, 0, depth)
	for at := inner; at != 0; at = s.nodes[at].caller {
		frames = append(frames, s.names[s.nodes[at].name])
	}
	return frames
}

// bound keeps the heaviest stacks if there are more than most, and leaves room
// for new ones; the others become one without functions. The samples that they
// had are counted as evicted, and returned.
func (s *settled) bound(most int, weight func(t *tally) int64) (evicted uint64) {
	if len(s.samples) <= most {
		return 0
	}
	spare := most / 4
	old := *s
	s.reset()
	m := mover{from: &old, to: s, node: make([]uint32, len(old.nodes)), names: newNames(all), keys: map[uint32]bool{}}
	slices.SortStableFunc(old.samples, func(a, b tally) int {
		if x, y := old.nowhere(&a), old.nowhere(&b); x != y {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return cmp.Compare(weight(&b), weight(&a))
	})
	for i := range old.samples {
		t := &old.samples[i]
		switch gone := i >= most-spare; {
		case old.nowhere(t):
			m.nowhere(t, spare)
		case gone:
			evicted += t.count
			m.nowhere(t, spare)
		default:
			key := old.keys[t.key]
			s.count(path{m.inner(t.inner), s.keyOf(key), t.cut}, t)
		}
	}
	s.loss.Evicted += evicted
	return evicted
}

// nowhere reports that a sample is of stacks that there was no room for.
func (s *settled) nowhere(t *tally) bool {
	n := s.nodes[t.inner]
	return t.inner != 0 && n.caller == 0 && s.names[n.name].Symbol == noRoom.Symbol
}

// A mover takes what is kept of one settled to another.
type mover struct {
	from, to *settled
	node     []uint32 // where those of from are, 0 is not yet
	names    *names
	keys     map[uint32]bool // of from, of stacks that there is no room for
}

// inner moves a function and those that called it.
func (m *mover) inner(at uint32) uint32 {
	if at == 0 || m.node[at] != 0 {
		return m.node[at]
	}
	n := m.from.nodes[at]
	m.node[at] = m.to.nodeOf(node{m.inner(n.caller), m.to.nameOf(m.names, m.from.names[n.name])})
	return m.node[at]
}

// nowhere counts a sample without its functions, and without its key if there
// are many: where each thread has a name of its own, there is no room for names
// either.
func (m *mover) nowhere(t *tally, most int) {
	key := m.from.keys[t.key]
	if m.keys[t.key] || len(m.keys) < most {
		m.keys[t.key] = true
	} else {
		key = make([]event.Value, len(key))
	}
	m.to.count(path{inner: m.to.nodeOf(node{0, m.to.nameOf(m.names, noRoom)}), key: m.to.keyOf(key)}, t)
}
