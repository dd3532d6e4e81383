package load

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file gives up events that wait in joins for too long, as join.Join does: where
// more wait than the join's limit, the oldest go, and are counted as evicted.
//
// The map has room for more than may wait, since it is done from here, now and then: a
// program that looked for the oldest while an event waits would hold up what is traced.
// How many wait is estimated from a part of the map, so that events cost nothing more.
// When a result is made, exactly as many wait as may.
//
// Only where more events come than there is room for, in the time between two looks, is
// it the newest that find none; they are evicted as well. An event that is given up may
// have met its partner, and another one be waiting under its key, since its time was
// read: then that one goes. Only the oldest are deleted, so that this hardly ever meets.

// A Wait is where the events wait of a join.
type Wait struct {
	Map  MapID
	Join int
	// Most is how many may wait.
	Most int
	// Keep says that events that were given up are of interest.
	Keep bool
}

// A waitRoom is how full the map of a join is.
type waitRoom struct {
	have      int // events that waited at the last look, or about as many
	at        time.Time
	untilFull time.Duration // until it may be full
	evicted   [][]byte      // what was given up and nobody took
}

// waiters are the events that wait in joins.
type waiters struct{ *Run }

// Times between looks at how full maps of joins are. An event a microsecond fills the
// room beyond the limit of a join that has none of its own within 16 ms.
const (
	leastLook = 10 * time.Millisecond
	mostLook  = time.Second
	// lookSlots are the slots of a hash at which one look looks.
	lookSlots = 4096
	// mostGone bounds how many of the events that were given up are kept. Further
	// ones are only counted.
	mostGone = 1 << 17
)

// WaitingRoom is for how many events a map has room where so many may wait.
func WaitingRoom(most int) int { return most + most/2 + 64 }

// NextSweep is how long Sweep has nothing to do, at most idle.
func (r *Run) NextSweep(idle time.Duration) time.Duration {
	if len(r.im.Folds) > 0 {
		idle = min(idle, 4*time.Second) // a wake-up costs six switches between threads
		if r.swept.grows {
			idle = min(idle, time.Second)
		}
	}
	for i := range r.im.Waits {
		next := leastLook
		if i < len(r.swept.waits) {
			next = min(max(r.swept.waits[i].untilFull/2, leastLook), mostLook)
		}
		idle = min(idle, next)
	}
	return idle
}

// sweep gives up the oldest events of joins where too many wait.
func (r waiters) sweep() error {
	for len(r.swept.waits) < len(r.im.Waits) {
		r.swept.waits = append(r.swept.waits, waitRoom{untilFull: mostLook, at: time.Now()})
	}
	for i := range r.im.Waits {
		w, is := &r.im.Waits[i], &r.swept.waits[i]
		m := r.words(w.Map)
		now := time.Now()
		if now.Sub(is.at) < leastLook {
			continue
		}
		have, err := m.about()
		if err != nil {
			return fmt.Errorf("count what waits in a join: %w", err)
		}
		is.look(have, m.entries, now)
		if have > w.Most {
			if err := r.giveUp(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// look notes how many events wait now, and when the map may be full.
func (is *waitRoom) look(have, entries int, now time.Time) {
	more, took := have-is.have, now.Sub(is.at)
	is.untilFull = mostLook
	if more > 0 {
		is.untilFull = min(mostLook, time.Duration(float64(took)*float64(max(0, entries-have))/float64(more)))
	}
	is.have, is.at = have, now
}

// giveUp gives up the oldest events of a join of which more wait than may.
func (r waiters) giveUp(i int) error {
	w, is := &r.im.Waits[i], &r.swept.waits[i]
	m := r.words(w.Map)
	var keys, values []byte
	var began []uint64
	err := m.walk(func(key []byte, value []uint64) {
		keys, began = append(keys, key...), append(began, value[0])
		if w.Keep {
			values = append(values, unsafe.Slice((*byte)(unsafe.Pointer(&value[0])), 8*len(value))...)
		}
	})
	if err != nil {
		return fmt.Errorf("read what waits in a join: %w", err)
	}
	is.have = len(began)
	over := len(began) - w.Most
	if over <= 0 {
		return nil
	}
	order := make([]int32, len(began))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(began[a], began[b]) })
	size := 8 * m.value
	for _, k := range order[:over] {
		err := bpfElem(mapDelete, &elemAttr{fd: uint32(m.fd), key: unsafe.Pointer(&keys[int(k)*m.key])})
		if errors.Is(err, unix.ENOENT) {
			continue // it met its partner
		}
		if err != nil {
			return fmt.Errorf("give up events of a join: %w", err)
		}
		r.swept.evicted++
		if w.Keep && len(is.evicted) < mostGone {
			is.evicted = append(is.evicted, slices.Clone(values[int(k)*size:(int(k)+1)*size]))
		}
	}
	is.have = w.Most
	return nil
}

// even has no more events wait than may.
func (r waiters) even() error {
	if len(r.progs) == 0 {
		return nil // they were never loaded
	}
	if err := r.sweep(); err != nil {
		return err
	}
	for i := range r.im.Waits {
		if w := &r.im.Waits[i]; r.swept.waits[i].have > w.Most-w.Most/8 {
			if err := r.giveUp(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// GivenUp calls fn for each event of a join that was given up since the last call, the
// oldest first, with its bytes.
func GivenUp(r *Run, join int, fn func(waits []byte)) error {
	if err := (waiters{r}).even(); err != nil {
		return err
	}
	for i := range r.im.Waits {
		if r.im.Waits[i].Join != join {
			continue
		}
		for _, waits := range r.swept.waits[i].evicted {
			fn(waits)
		}
		r.swept.waits[i].evicted = nil
	}
	return nil
}

// about is about how many elements a hash has, from a part of its slots. It is exact for
// small ones.
func (m *words64) about() (int, error) {
	// must match htab_map_alloc in kernel/bpf/hashtab.c, whose batches tell how far they
	// have come by the number of the slot
	slots := 1 << bits.Len(uint(m.entries-1))
	n := max(leastBatch, min(batchKeys, batchBytes/(8*m.value)))
	keys, values := make([]byte, m.key*n), make([]uint64, m.value*n)
	from := uint32(max(0, slots-lookSlots))
	cursor := make([]byte, 8)
	binary.NativeEndian.PutUint32(cursor, from)
	a := &batchAttr{in: unsafe.Pointer(&cursor[0]), out: unsafe.Pointer(&cursor[0]),
		keys: unsafe.Pointer(&keys[0]), values: unsafe.Pointer(&values[0]), fd: uint32(m.fd)}
	seen := 0
	for {
		a.count = uint32(n)
		err := bpfBatch(mapLookupBatch, a)
		over := errors.Is(err, unix.ENOENT)
		if err != nil && !over {
			return 0, err
		}
		if seen += int(a.count); over {
			return seen * slots / (slots - int(from)), nil
		}
	}
}
