package load

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file frees stacks that folds held, before there is no room for new ones. When many have a
// number, the oldest ones that no state holds lose theirs: a program that meets such a stack again
// gives it a new number. A program may be about to put the old number into a state, and what it
// sent may lie in a buffer; so the stack itself stays a while longer, and as long as a state holds
// it.
//
// Which numbers of a state are numbers of stacks is not known: what else is as small holds a
// stack for nothing.

// heldGrace is the time for which a stack is kept after it lost its number.
const heldGrace = 20 * time.Second

// A heldSweep counts the stacks that folds hold, as of the last sweep.
type heldSweep struct {
	numbered uint64 // numbers, when they were looked through last
	have     uint64 // stacks with a number then
	doomed   []uint64
	since    time.Time
}

// The holders are the folds of a run that hold stacks.
type holders struct{ *Run }

// sweep frees stacks that no state holds.
func (r holders) sweep(now time.Time) error {
	if r.maps[HeldMap.Of()] == nil {
		return nil
	}
	s := &r.swept.held
	if len(s.doomed) > 0 {
		if now.Sub(s.since) < heldGrace {
			return nil
		}
		if err := r.letGo(s, now); err != nil {
			return fmt.Errorf("let go of stacks: %w", err)
		}
	}
	var given [1]uint64
	if err := r.words(HeldCountMap.Of()).lookup(make([]byte, 4), given[:]); err != nil {
		return fmt.Errorf("count the stacks that folds hold: %w", err)
	}
	numbers := r.words(HeldNumbersMap.Of())
	if s.have+given[0]-s.numbered < uint64(numbers.entries)/2 {
		return nil
	}
	if err := r.unnumber(s, numbers, now); err != nil {
		return fmt.Errorf("let go of stacks: %w", err)
	}
	s.numbered = given[0]
	return nil
}

// unnumber takes the oldest numbers that no state holds, until an eighth of the room is
// taken.
func (r holders) unnumber(s *heldSweep, numbers *words64, now time.Time) error {
	held, err := r.heldNumbers()
	if err != nil {
		return err
	}
	type stack struct {
		hash   string
		number uint64
	}
	var all []stack
	err = numbers.walk(func(key []byte, v []uint64) { all = append(all, stack{string(key), v[0]}) })
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b stack) int { return cmp.Compare(a.number, b.number) })
	s.have, s.since = uint64(len(all)), now
	for _, k := range all {
		if s.have <= uint64(numbers.entries)/8 {
			break
		}
		if held[k.number] {
			continue
		}
		if err := deleteKey(numbers, []byte(k.hash)); err != nil {
			return err
		}
		s.doomed = append(s.doomed, k.number)
		s.have--
	}
	return nil
}

// letGo deletes the stacks without a number that no state holds.
func (r holders) letGo(s *heldSweep, now time.Time) error {
	held, err := r.heldNumbers()
	if err != nil {
		return err
	}
	stacks := r.words(HeldMap.Of())
	rest := s.doomed[:0]
	for _, n := range s.doomed {
		if held[n] {
			rest = append(rest, n)
			continue
		}
		if err := deleteKey(stacks, binary.LittleEndian.AppendUint32(nil, uint32(n))); err != nil {
			return err
		}
	}
	s.doomed, s.since = rest, now
	return nil
}

// heldNumbers are the numbers in states that may be those of stacks.
func (r holders) heldNumbers() (map[uint64]bool, error) {
	held := map[uint64]bool{}
	for i := range r.im.Folds {
		if !r.im.Folds[i].Holds {
			continue
		}
		err := r.words(r.im.Folds[i].States).walk(func(_ []byte, state []uint64) {
			for _, v := range state {
				if v>>32 == 0 {
					held[v] = true
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return held, nil
}

// deleteKey deletes an element, if it is there.
func deleteKey(m *words64, key []byte) error {
	err := bpfElem(mapDelete, &elemAttr{fd: uint32(m.fd), key: unsafe.Pointer(&key[0])})
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
