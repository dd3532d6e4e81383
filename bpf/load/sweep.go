package load

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"ppscript/runtime/event"
)

// This file gives up states of folds before their map is full, as fold.Fold does: states
// that are as at their begin, and states that were not used for longest, which are
// counted as evicted.
//
// It is done from here and not by a program, which would have to look for the oldest
// while an event waits. A program counts the states that it makes, on the way of new
// keys only; so a map is walked when it may be nearly full, and not before. Keys that
// come faster than that have no state, and are counted as evicted as well.
//
// A program may hold a state that is deleted, in the nanoseconds between looking it up
// and locking it. What it writes then is lost, or, should the kernel give the memory to
// another key meanwhile, in that key's state. Only states that no event touched while
// a quarter of the map came new are deleted, so that this hardly ever meets.

// A Fold is where the states of a fold are.
type Fold struct {
	States, Creations MapID
	Begin             []uint64 // a state as it is made
	Used              int      // the word that says when it was last used
	First             int      // the first word that is compared with Begin
	Holds             bool     // numbers of stacks
}

// mapSweep tells how full the maps of all folds and joins are.
type mapSweep struct {
	fill  []fill     // by fold
	waits []waitRoom // by Image.Waits
	// evicted is how many states and events were given up so far, and told how many of them
	// Loss returned.
	evicted, told uint64
	areas         map[MapID][]byte // through which states are flushed
	held          heldSweep
	grows         bool // programs made states between the last two looks
}

// A fill is how full the map of a fold is.
type fill struct {
	created uint64 // states that programs had made at the last look
	walk    uint64 // states that they had made when the map was walked
	have    uint64 // states that it had then
}

// A foldKey is a state that may be given up.
type foldKey struct {
	key   string
	used  uint64
	begun bool // it is not as at its begin
}

// sweepFolds makes room in the maps that are nearly full.
func (r *Run) sweepFolds() error {
	if r.swept.fill == nil {
		r.swept.fill = make([]fill, len(r.im.Folds))
	}
	r.swept.grows = false
	var made [1]uint64
	for i := range r.im.Folds {
		f := &r.im.Folds[i]
		if err := r.words(f.Creations).lookup(make([]byte, 4), made[:]); err != nil {
			return fmt.Errorf("count the states of a fold: %w", err)
		}
		is := &r.swept.fill[i]
		r.swept.grows = r.swept.grows || made[0] != is.created
		is.created = made[0]
		m := r.words(f.States)
		most := uint64(m.entries)
		if is.have+is.created-is.walk < most-most/8 {
			continue
		}
		is.walk = is.created
		have, err := r.sweepFold(f, m)
		if err != nil {
			return fmt.Errorf("give up states of a fold: %w", err)
		}
		is.have = have
	}
	return nil
}

// sweepFold leaves a quarter of the map free, if it was nearly full, and returns how many
// states there are.
func (r *Run) sweepFold(f *Fold, m *words64) (have uint64, err error) {
	var keys []foldKey
	err = m.walk(func(key []byte, state []uint64) {
		initial := slices.Equal(state[f.First:f.First+len(f.Begin)], f.Begin)
		keys = append(keys, foldKey{string(key), state[f.Used], !initial})
	})
	if err != nil {
		return 0, err
	}
	if len(keys) < m.entries-m.entries/8 {
		return uint64(len(keys)), nil
	}
	over := len(keys) - (m.entries - m.entries/4)
	slices.SortFunc(keys, func(a, b foldKey) int { return cmp.Compare(a.used, b.used) })
	// States as at their begin go first, but for states that were just used: an event may
	// be about to change them.
	old := slices.Clone(keys[:(len(keys)+1)/2])
	slices.SortStableFunc(old, func(a, b foldKey) int {
		return cmp.Compare(event.Bit(a.begun), event.Bit(b.begun))
	})
	gone := append(old, keys[len(old):]...)[:over]
	for _, k := range gone {
		key := []byte(k.key)
		if err := bpfElem(mapDelete, &elemAttr{fd: uint32(m.fd), key: unsafe.Pointer(&key[0])}); err != nil {
			return 0, err
		}
		r.swept.evicted += uint64(event.Bit(k.begun))
	}
	return uint64(len(keys) - over), nil
}

// walk calls fn for every element of a hash; others may write to it meanwhile. An
// element that comes or goes meanwhile may be missing. The slices die when fn returns.
func (m *words64) walk(fn func(key []byte, values []uint64)) error {
	if !m.noBatch {
		err := m.batches(mapLookupBatch, going(fn))
		if !unsupported(err) {
			return err
		}
		m.noBatch = true
	}
	key, next := make([]byte, m.key), make([]byte, m.key)
	values := make([]uint64, m.value*m.cpus)
	at := elemAttr{fd: uint32(m.fd), value: unsafe.Pointer(&next[0])} // no key: the first
	for range 2 * m.entries {                                         // it begins anew where a key is gone
		if bpfElem(mapNextKey, &at) != nil {
			return nil
		}
		copy(key, next)
		at.key = unsafe.Pointer(&key[0])
		if m.lookup(key, values) == nil {
			fn(key, values)
		}
	}
	return nil
}
