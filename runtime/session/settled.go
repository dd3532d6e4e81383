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
	at := path{key: s.keyOf(x.Key), cut: x.Cut}
	for i := range slices.Backward(x.Frames) {
		next := node{at.inner, s.nameOf(n, x.Frames[i])}
		inner, ok := s.node[next]
		if !ok {
			inner = uint32(len(s.nodes))
			s.node[next] = inner
			s.nodes = append(s.nodes, next)
		}
		at.inner = inner
	}
	i, ok := s.at[at]
	if !ok {
		s.at[at] = uint32(len(s.samples))
		s.samples = append(s.samples, tally{at, x.PID, x.Count, x.Value})
		return
	}
	t := &s.samples[i]
	if t.pid != x.PID {
		t.pid = -1
	}
	t.count += x.Count
	t.value += x.Value
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
// had are counted as evicted.
func (s *settled) bound(most int, weight func(x *result.StackSample) int64) {
	if len(s.samples) <= most {
		return
	}
	spare := most / 4
	samples := s.list()
	slices.SortStableFunc(samples, func(a, b result.StackSample) int {
		if x, y := nowhere(&a), nowhere(&b); x != y {
			return map[bool]int{true: -1, false: 1}[x]
		}
		return cmp.Compare(weight(&b), weight(&a))
	})
	s.reset()
	n, keys := newNames(all), map[string]bool{}
	for i := range samples {
		x := &samples[i]
		if i >= most-spare && !nowhere(x) {
			s.loss.Evicted += x.Count
			x.Frames, x.Cut = []*result.Frame{noRoom}, false
		}
		if nowhere(x) {
			// Where each thread has a name of its own, nor is there room for names.
			if text := string(s.packed(x.Key)); keys[text] || len(keys) < spare {
				keys[text] = true
			} else {
				x.Key = make([]event.Value, len(x.Key))
			}
		}
		s.add(n, x)
	}
}

// nowhere reports that a sample is of stacks that there was no room for.
func nowhere(x *result.StackSample) bool {
	return len(x.Frames) == 1 && x.Frames[0].Symbol == noRoom.Symbol
}
