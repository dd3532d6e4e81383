package render

import (
	"hash/fnv"
	"sort"
	"strings"

	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file merges stacks into the tree of a flame graph. The children of a
// node are sorted by name, so that two pictures of one program are easy to
// compare.

// A flameKind is the kind of a frame, which determines its colour.
type flameKind uint8

const (
	flameAll flameKind = iota
	flameKey
	flameKernel
	flameModule
	flameProgram
	flameLibrary
	flameInline
	flameUnknown
)

// A flameLabel is the name, file and kind that all frames of a function share.
type flameLabel struct {
	name string
	dso  string
	kind flameKind
}

type flameNode struct {
	label    int32
	children map[int32]*flameNode
	self     [2]int64
	total    [2]int64
}

// A flameTree has the merged stacks of one recording, or of two recordings to
// compare.
type flameTree struct {
	root   *flameNode
	labels []flameLabel
	index  map[flameLabel]int32
	nodes  int
	depth  int
}

func newFlameTree() *flameTree {
	t := &flameTree{index: map[flameLabel]int32{}}
	t.root = &flameNode{label: t.label(flameLabel{name: "all"})}
	t.nodes = 1
	return t
}

func (t *flameTree) label(l flameLabel) int32 {
	id, ok := t.index[l]
	if !ok {
		id = int32(len(t.labels))
		t.labels = append(t.labels, l)
		t.index[l] = id
	}
	return id
}

// add merges the samples of s into side 0 or 1.
func (t *flameTree) add(s *result.Stacks, side int) {
	for i := range s.Samples {
		x := &s.Samples[i]
		w := s.Weight(x)
		if w <= 0 {
			continue // a width cannot be negative
		}
		n := t.root
		n.total[side] += w
		names := pathOf(s, x)
		for d, name := range names {
			n = t.child(n, t.label(labelOf(x, d, len(names), string(plain.Append(nil, name)))))
			n.total[side] += w
		}
		n.self[side] += w
		t.depth = max(t.depth, len(names))
	}
}

func (t *flameTree) child(n *flameNode, label int32) *flameNode {
	c := n.children[label]
	if c == nil {
		c = &flameNode{label: label}
		if n.children == nil {
			n.children = map[int32]*flameNode{}
		}
		n.children[label] = c
		t.nodes++
	}
	return c
}

// labelOf returns the label for name d of the n names of a sample.
func labelOf(x *result.StackSample, d, n int, name string) flameLabel {
	l := flameLabel{name: name, kind: flameKey}
	if name == "" {
		l.name = result.Unknown
	}
	at := n - 1 - d // in x.Frames
	if at >= len(x.Frames) {
		return l
	}
	f := x.Frames[at]
	l.dso = string(plain.Append(nil, f.DSO))
	switch {
	case f.Inline:
		l.kind = flameInline
	case f.Kernel && strings.HasPrefix(f.DSO, "[") && f.DSO != "[kernel.kallsyms]":
		l.kind = flameModule
	case f.Kernel:
		l.kind = flameKernel
	case f.Symbol == "":
		l.kind = flameUnknown
	case strings.Contains(f.DSO, ".so"), strings.HasPrefix(f.DSO, "["):
		l.kind = flameLibrary
	case f.DSO == "" && d == 0:
		l.kind = flameKey // folded text begins with the name of the process
	default:
		l.kind = flameProgram
	}
	return l
}

// sorted returns the children in the order of their names.
func (t *flameTree) sorted(n *flameNode) []*flameNode {
	list := make([]*flameNode, 0, len(n.children))
	for _, c := range n.children {
		list = append(list, c)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := &t.labels[list[i].label], &t.labels[list[j].label]
		if a.name != b.name {
			return a.name < b.name
		}
		if a.dso != b.dso {
			return a.dso < b.dso
		}
		return a.kind < b.kind
	})
	return list
}

// hueOf returns a number from 0 to 99 for a name, which selects one of the
// colours of its kind. A name has the same colour in every picture.
func hueOf(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int((h.Sum32() >> 8) % 100)
}
