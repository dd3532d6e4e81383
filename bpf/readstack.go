package bpf

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file reads the stacks that rows are counted by.

// Now is the time on the clock of programs, CLOCK_MONOTONIC.
func Now() event.Time {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("BUG: no monotonic clock: " + err.Error())
	}
	return event.Time(ts.Nano())
}

// stackIDs are the numbers of stacks by their hash.
type stackIDs map[[stackKey]byte]uint64

// stacks numbers the stacks of a generation, by number, and empties it.
func (r *Run) stacks(n int, number func(s *Stack) uint64) (stackIDs, error) {
	if number == nil || r.maps[stacksMap.of(n)] == nil {
		return nil, nil
	}
	ids := stackIDs{}
	kernel, _ := r.im.graph.chain()
	err := r.words(stacksMap.of(n)).drain(func(key []byte, v []uint64) {
		s := Stack{PID: -1, Max: int(v[chainMax/8]), Time: event.Time(v[chainTime/8])}
		words := v[chainWords/8:]
		s.Kernel, s.User = words[:v[chainKernel/8]/8], words[kernel:][:v[chainUser/8]/8]
		if len(s.User) > 0 {
			s.PID, s.Image = int32(v[chainTask/8]), uint32(v[chainTask/8]>>32)
		}
		ids[[stackKey]byte(key)] = number(&s)
	})
	return ids, err
}

// id is the number of a row's stack, in the packed form of a number.
func (ids stackIDs) id(hash []byte) []byte {
	return binary.LittleEndian.AppendUint64(nil, ids[[stackKey]byte(hash)])
}

// Fresh lists the processes that had a user stack that was new, since the last
// call: who will have to name its addresses can look at them while they are
// there.
func (r *Run) Fresh() ([]int, error) {
	if r.maps[freshMap.of()] == nil {
		return nil, nil
	}
	var pids []int
	err := r.words(freshMap.of()).drain(func(key []byte, _ []uint64) {
		pids = append(pids, int(binary.LittleEndian.Uint32(key)))
	})
	slices.Sort(pids)
	return pids, err
}
