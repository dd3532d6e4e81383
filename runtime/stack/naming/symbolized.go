package naming

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// This file keeps counts by stack after the stacks themselves were forgotten. It
// identifies stacks by the names of their functions, which are the same in all
// processes of a program.
//
// Stacks share their outer functions, so they are kept as a tree, with 8 bytes for
// each function plus an index. (Lists of frames took four times as much, and all had
// to be compared each time stacks were forgotten.)

// MostSymbolized bounds the stacks of a count. A picture with more is not
// readable.
const MostSymbolized = stack.DefaultStacks / 4

// A Symbolized is a count by stack whose stacks have been forgotten. It has the counts
// since the last result, by names. It is used by one goroutine.
type Symbolized struct {
	names   []*result.Frame
	name    map[uint64]uint32 // index in names, by hash
	seed    maphash.Seed
	nodes   []node          // the first one stands for no function
	node    map[node]uint32 // index in nodes
	keys    [][]event.Value
	key     map[string]uint32 // index in keys
	samples []Tally
	at      map[path]uint32 // index in samples
	pack    []byte

	// Cut counts the samples whose stacks lack outer frames, Unwound the samples whose
	// stacks were unwound.
	Cut, Unwound uint64
	// Loss counts the samples that are missing in the counts.
	Loss event.Loss
}

// A node is a function that another one called.
type node struct{ caller, name uint32 }

// A path is a stack, given by its innermost function, with the properties by which
// samples of one stack are counted separately.
type path struct {
	inner, key uint32
	cut        bool
}

// A Tally has the counts of a path.
type Tally struct {
	path
	pid   int32 // -1 for several processes
	Count uint64
	Value int64
}

// NewSymbolized makes an empty Symbolized.
func NewSymbolized() *Symbolized {
	s := &Symbolized{seed: maphash.MakeSeed()}
	s.reset()
	return s
}

func (s *Symbolized) reset() {
	s.names, s.name = nil, map[uint64]uint32{}
	s.nodes, s.node = []node{{}}, map[node]uint32{}
	s.keys, s.key = nil, map[string]uint32{}
	s.samples, s.at = nil, map[path]uint32{}
}

// Names maps the frames of results to names in a Symbolized.
type Names struct {
	detail FrameDetail
	of     map[*result.Frame]uint32
}

// NewNames makes names for one round of Add.
func NewNames(s FrameDetail) *Names { return &Names{s, map[*result.Frame]uint32{}} }

// FrameDetail is the part of a frame that results will show.
type FrameDetail uint8

const (
	// All is everything except the address of code with a name, since addresses differ
	// between processes.
	All FrameDetail = iota
	// InPictures leaves out the position in a function: a profile has many
	// positions for each chain of functions.
	InPictures
	// InText is the name alone: functions with one name in several files are
	// the same.
	InText
)

func (n *Names) plain(f *result.Frame) result.Frame {
	switch {
	case n.detail == InText && f.Symbol != "":
		return result.Frame{Symbol: f.Symbol}
	case n.detail != All:
		return result.Frame{Symbol: f.Symbol, DSO: f.DSO, Inline: f.Inline, Kernel: f.Kernel}
	}
	same := *f
	if f.Symbol != "" || f.DSO != "" {
		same.Addr = 0
	}
	return same
}

func (s *Symbolized) nameOf(n *Names, f *result.Frame) uint32 {
	if i, ok := n.of[f]; ok {
		return i
	}
	same := n.plain(f)
	h := maphash.Comparable(s.seed, same)
	i, ok := s.name[h]
	for ; ok && n.plain(s.names[i]) != same; i, ok = s.name[h] {
		h++ // the hash of another frame
	}
	if !ok {
		i = uint32(len(s.names))
		s.name[h] = i
		first := f // including its address
		if n.detail != All {
			first = &same
		}
		s.names = append(s.names, first)
	}
	n.of[f] = i
	return i
}

// Add counts a sample. It keeps only the names of x.
func (s *Symbolized) Add(n *Names, x *result.StackSample) {
	inner := uint32(0)
	for i := range slices.Backward(x.Frames) {
		inner = s.nodeOf(node{inner, s.nameOf(n, x.Frames[i])})
	}
	s.count(path{inner, s.keyOf(x.Key), x.Cut}, &Tally{pid: x.PID, Count: x.Count, Value: x.Value})
}

func (s *Symbolized) nodeOf(n node) uint32 {
	i, ok := s.node[n]
	if !ok {
		i = uint32(len(s.nodes))
		s.node[n] = i
		s.nodes = append(s.nodes, n)
	}
	return i
}

// count adds the numbers of a Tally to the Tally of a path.
func (s *Symbolized) count(at path, more *Tally) {
	i, ok := s.at[at]
	if !ok {
		s.at[at] = uint32(len(s.samples))
		s.samples = append(s.samples, Tally{at, more.pid, more.Count, more.Value})
		return
	}
	t := &s.samples[i]
	if t.pid != more.pid {
		t.pid = -1
	}
	t.Count += more.Count
	t.Value += more.Value
}

func (s *Symbolized) keyOf(key []event.Value) uint32 {
	packed := s.packed(key)
	i, ok := s.key[string(packed)]
	if !ok {
		i = uint32(len(s.keys))
		s.key[string(packed)] = i
		s.keys = append(s.keys, slices.Clone(key))
	}
	return i
}

// packed returns a key as bytes, valid until the next call.
func (s *Symbolized) packed(key []event.Value) []byte {
	s.pack = s.pack[:0]
	for _, v := range key {
		text := v.String()
		s.pack = append(binary.AppendUvarint(append(s.pack, byte(v.Kind)), uint64(len(text))), text...)
	}
	return s.pack
}

// List returns the samples, which share only their frames with s.
func (s *Symbolized) List() []result.StackSample {
	out := make([]result.StackSample, len(s.samples))
	for i := range s.samples {
		t := &s.samples[i]
		out[i] = result.StackSample{
			Key:       s.keys[t.key],
			PID:       t.pid,
			Count:     t.Count,
			Value:     t.Value,
			CallStack: result.CallStack{Frames: s.frames(t.inner), Cut: t.cut},
		}
	}
	return out
}

func (s *Symbolized) frames(inner uint32) []*result.Frame {
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

// Bound keeps only the heaviest stacks if there are more than most, with room
// for new ones. The others become one stack without functions. Their samples
// are counted as evicted, and returned.
func (s *Symbolized) Bound(most int, weight func(t *Tally) int64) (evicted uint64) {
	if len(s.samples) <= most {
		return 0
	}
	spare := most / 4
	old := *s
	s.reset()
	m := mover{
		from:  &old,
		to:    s,
		node:  make([]uint32, len(old.nodes)),
		names: NewNames(All),
		keys:  map[uint32]bool{},
	}
	slices.SortStableFunc(old.samples, func(a, b Tally) int {
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
			evicted += t.Count
			m.nowhere(t, spare)
		default:
			key := old.keys[t.key]
			s.count(path{m.inner(t.inner), s.keyOf(key), t.cut}, t)
		}
	}
	s.Loss.Evicted += evicted
	return evicted
}

// nowhere reports that a path stands for stacks that found no room.
func (s *Symbolized) nowhere(t *Tally) bool {
	n := s.nodes[t.inner]
	return t.inner != 0 && n.caller == 0 && s.names[n.name].Symbol == NoRoom.Symbol
}

// A mover copies the kept stacks of one Symbolized to another.
type mover struct {
	from, to *Symbolized
	node     []uint32 // indices of the nodes of from; 0 if not copied yet
	names    *Names
	keys     map[uint32]bool // keys of from, of stacks that found no room
}

// inner copies a function with its callers.
func (m *mover) inner(at uint32) uint32 {
	if at == 0 || m.node[at] != 0 {
		return m.node[at]
	}
	n := m.from.nodes[at]
	m.node[at] = m.to.nodeOf(node{m.inner(n.caller), m.to.nameOf(m.names, m.from.names[n.name])})
	return m.node[at]
}

// nowhere counts a path without its functions, and without its key if there are many
// keys: if each thread has a name of its own, the keys would find no room either.
func (m *mover) nowhere(t *Tally, most int) {
	key := m.from.keys[t.key]
	if m.keys[t.key] || len(m.keys) < most {
		m.keys[t.key] = true
	} else {
		key = slices.Repeat([]event.Value{event.StrOf(agg.OtherKey)}, len(key))
	}
	m.to.count(path{inner: m.to.nodeOf(node{0, m.to.nameOf(m.names, NoRoom)}), key: m.to.keyOf(key)}, t)
}
