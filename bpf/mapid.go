package bpf

import (
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// A mapKind is the purpose of a map of an Image. To add one, name it here,
// define its maps with Image.define where they are needed, and refer to them by
// mapID.
type mapKind uint8

const (
	generationMap mapKind = iota // u64: the generation that counts now, 0 or 1
	controlMap                   // u64: the process that counts; the one whose execve makes it count
	processesMap                 // u32: further processes that count
	cgroupsMap                   // cgroups, by their place in Target.Cgroups
	threadsMap                   // u32: threads that the target has
	statsMap                     // by program and CPU: taken and lost events
	zeroMap                      // by table: a row with nothing counted
	rowsMap                      // by program, table and generation: rows by key
	spareMap                     // likewise: where rows are made for which the kernel has no memory at hand
	denseMap                     // likewise: rows of small keys
	sketchMap                    // likewise: the buckets of quantiles
	waitMap                      // by join: the events that wait for a partner
	runningMap                   // by join: who runs on each CPU
	foldMap                      // by fold: states by key
	initialMap                   // by fold: a state at its begin
	chainMap                     // by program: where a stack is walked
	stacksMap                    // by generation: stacks by their hash
	freshMap                     // u32: processes with new user stacks
	wholeMap                     // by program: where records are made that are larger than the stack
	sendMap                      // by CPU: sendState
	buffersMap                   // by CPU: its buffer
	bufferMap                    // the buffer of a CPU
)

var mapNames = [...]string{
	generationMap: "generation",
	controlMap:    "control",
	processesMap:  "processes",
	cgroupsMap:    "cgroups",
	threadsMap:    "threads",
	statsMap:      "stat",
	zeroMap:       "zero",
	rowsMap:       "rows",
	spareMap:      "spare",
	denseMap:      "few",
	sketchMap:     "dist",
	waitMap:       "wait",
	runningMap:    "runs",
	foldMap:       "fold",
	initialMap:    "init",
	chainMap:      "chain",
	stacksMap:     "stacks",
	freshMap:      "fresh",
	wholeMap:      "whole",
	sendMap:       "send",
	buffersMap:    "buffers",
	bufferMap:     "buffer",
}

// A mapID is one map of an Image: its kind, and which of that kind.
type mapID struct {
	kind mapKind
	n    int // how many of at count
	at   [3]int
}

// of is a map of the kind.
func (k mapKind) of(at ...int) mapID {
	id := mapID{kind: k, n: len(at)}
	copy(id.at[:], at)
	return id
}

// String is the name by which programs refer to the map.
func (m mapID) String() string {
	var s strings.Builder
	s.WriteString(mapNames[m.kind])
	for _, at := range m.at[:m.n] {
		s.WriteByte('_')
		s.WriteString(strconv.Itoa(at))
	}
	return s.String()
}

// A Map is a map that Load makes.
type Map struct {
	id   mapID
	Spec *ebpf.MapSpec
}

// define gives the image a map.
func (im *Image) define(id mapID, spec *ebpf.MapSpec) {
	im.Maps = append(im.Maps, Map{id, spec})
}
