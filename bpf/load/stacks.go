package load

import (
	"encoding/binary"
	"errors"
	"fmt"
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

// A Stack is a call stack as a program found it, innermost address first.
// PID is -1 if there are no user addresses. One with Max addresses is cut; one that ends before
// the outermost function has as many as Max says.
type Stack struct {
	Max    int
	PID    int32
	Image  uint32 // programs that the process executed before
	Time   event.Time
	Kernel []uint64
	User   []uint64
	// Unwound says that the user part was found by unwind tables.
	Unwound bool
	// Interpreted is the hash under which package interpreted keeps the functions that interpreters ran; 0 if
	// none did.
	Interpreted uint64
}

// The layout of a stack's memory, in bytes from its beginning.
const (
	ChainTask        = 0  // u32 process, u32 programs that it executed; 0 if the kernel's alone
	ChainKernel      = 8  // bytes of kernel addresses
	ChainUser        = 16 // bytes of user addresses
	ChainTime        = 24 // when it was stored
	ChainMax         = 32 // StackSpec.Max
	ChainInterpreted = 40 // Stack.Interpreted
	ChainWords       = 48 // kernel addresses, room for as many as asked for; then user ones
)

// StackKey is the size of the hash.
const StackKey = 16

// stackIDs are the numbers of stacks by their hash.
type stackIDs map[[StackKey]byte]uint64

// stacks numbers the stacks of a generation, by number, and empties it.
func (r *Run) stacks(n int, number func(s *Stack) uint64) (stackIDs, error) {
	if number == nil || r.maps[StacksMap.Of(n)] == nil {
		return nil, nil
	}
	ids := stackIDs{}
	kernel := r.im.StackRoom
	err := r.words(StacksMap.Of(n)).drain(func(key []byte, v []uint64) {
		ids[[StackKey]byte(key)] = number(stackIn(v, kernel))
	})
	return ids, err
}

// stackIn is the stack in a value that has room for so many kernel addresses.
func stackIn(v []uint64, kernel int) *Stack {
	s := &Stack{PID: -1, Max: int(v[ChainMax/8]), Time: event.Time(v[ChainTime/8]),
		Interpreted: v[ChainInterpreted/8]}
	words := v[ChainWords/8:]
	s.Kernel, s.User = words[:v[ChainKernel/8]/8], words[kernel:][:v[ChainUser/8]/8]
	if s.Unwound = s.Max&ChainUnwound != 0; s.Max&ChainCut != 0 {
		s.Max = len(s.Kernel) + len(s.User)
	}
	s.Max &= ChainCut - 1
	if len(s.User) > 0 {
		s.PID, s.Image = int32(v[ChainTask/8]), uint32(v[ChainTask/8]>>32)
	}
	return s
}

// HeldStack is the stack that folds of programs hold under a number; nil if there is none.
func HeldStack(r *Run, number uint64) (*Stack, error) {
	if r.maps[HeldMap.Of()] == nil {
		return nil, nil
	}
	m := r.words(HeldMap.Of())
	v := make([]uint64, m.value)
	err := m.lookup(binary.LittleEndian.AppendUint32(nil, uint32(number)), v)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a stack: %w", err)
	}
	return stackIn(v, r.im.StackRoom), nil
}

// id is the number of a row's stack, in the packed form of a number.
func (ids stackIDs) id(hash []byte) []byte {
	return binary.LittleEndian.AppendUint64(nil, ids[[StackKey]byte(hash)])
}

// Fresh lists the processes that had a user stack that was new, since the last
// call: the code that will name their addresses can look at them while they are
// there.
func (r *Run) Fresh() ([]int, error) {
	if r.maps[FreshMap.Of()] == nil {
		return nil, nil
	}
	var pids []int
	err := r.words(FreshMap.Of()).drain(func(key []byte, _ []uint64) {
		pids = append(pids, int(binary.LittleEndian.Uint32(key)))
	})
	slices.Sort(pids)
	return pids, err
}

// SentStacks is the number of the map with the stacks of what programs send, beside those
// of generations.
const SentStacks = 2

// mostChains bounds how many of the stacks that were read are remembered.
const mostChains = 1 << 14

// Chain is the stack of something that was sent, as a callchain of perf, by its hash; nil if
// there is none, or no room was left for it. It is shared.
func Chain(r *Run, hash []byte) []uint64 {
	key := [StackKey]byte(hash)
	m := r.maps[StacksMap.Of(SentStacks)]
	if m == nil || key == [StackKey]byte{} {
		return nil
	}
	if chain, known := r.send.chains[key]; known {
		return chain
	}
	words := r.words(StacksMap.Of(SentStacks))
	v := make([]uint64, words.value)
	if words.lookup(key[:], v) != nil {
		return nil
	}
	kernel, user := v[ChainWords/8:], v[ChainWords/8+r.im.StackRoom:]
	kernel, user = kernel[:v[ChainKernel/8]/8], user[:v[ChainUser/8]/8]
	var chain []uint64
	if len(kernel) > 0 {
		chain = append(append(chain, contextKernel), kernel...)
	}
	if len(user) > 0 {
		chain = append(append(chain, contextUser), user...)
	}
	if r.send.chains == nil || len(r.send.chains) >= mostChains {
		r.send.chains = map[[StackKey]byte][]uint64{}
	}
	r.send.chains[key] = chain
	return chain
}

// Where the kernel's and the user's addresses begin in a callchain: PERF_CONTEXT_KERNEL and
// PERF_CONTEXT_USER of include/uapi/linux/perf_event.h.
const (
	contextKernel = 1<<64 - 128
	contextUser   = 1<<64 - 512
)
