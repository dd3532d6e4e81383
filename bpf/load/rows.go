package load

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
)

// This file reads the counts of the programs.
//
// At an interval the programs are switched to the other generation of maps, a
// grace period lets programs that still run end, and the old generation, which
// nobody writes any more, is read and emptied. So every event is in exactly
// one interval. The alternative, to read and to subtract the counts read
// before, needs no second maps, but cannot do minima and maxima, never
// forgets a key, and sees rows in the middle of an update.
//
// The grace period takes milliseconds, in which Go's runtime looks after the thread that
// waits. So where nothing has been counted nothing is switched: what comes while this is
// looked at is of the next interval.

// Rows fetches the rows of all groups since the last call, and calls add for
// each part of a row, in the order in which the parts began. A stack in a key is
// the number that number returns for it; it may be nil where there are none.
func (r *Run) Rows(number func(s *Stack) uint64, add func(of *agg.Spec, p *agg.Partial)) error {
	old := r.generation
	if r.im.Intervals && !r.state.stopped && !r.state.paused {
		if untouched(r) {
			return nil
		}
		r.generation = 1 - old
		if err := r.words(GenerationMap.Of()).update(make([]byte, 4), []uint64{r.generation}); err != nil {
			return fmt.Errorf("switch maps: %w", err)
		}
	}
	r.settle()
	type part struct {
		of *agg.Spec
		p  *agg.Partial
	}
	var parts []part
	stacks, err := r.stacks(int(old), number)
	if err != nil {
		return fmt.Errorf("read stacks: %w", err)
	}
	for _, u := range r.im.Units {
		err := r.unit(u, int(old), stacks, func(p *agg.Partial) {
			parts = append(parts, part{u.Table.Spec, p})
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", u.Table.Name, err)
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.p.First, b.p.First) })
	for _, p := range parts {
		add(p.of, p.p)
	}
	return nil
}

// untouched reports that nothing has been counted since the last switch. Where there are
// slots, the first row is in one of them; a hash that is empty is looked at bucket by bucket.
func untouched(r *Run) bool {
	now := r.generation
	for _, u := range r.im.Units {
		switch {
		case u.Table.Value.Slots:
			if !noHits(r.words(u.Slots[now])) {
				return false
			}
		case !r.words(u.Rows[now]).empty() || len(u.Spare) > 0 && !r.words(u.Spare[now]).empty():
			return false
		}
	}
	return true
}

// noHits reports that no row is in the slots.
func noHits(m *words64) bool {
	used := false
	err := m.until(func(_ int, values []uint64) bool {
		for ; len(values) > 0 && !used; values = values[m.value:] {
			used = values[HitsAt/8] != 0
		}
		return !used
	})
	return err == nil && !used
}

// settle waits until no program writes to the generation that was switched
// off.
func (r *Run) settle() {
	if barrier() != nil {
		// Kernels with CPUs that are never disturbed have no such call. No
		// program runs for a millisecond.
		time.Sleep(20 * time.Millisecond)
	}
}

// unit reads one program's rows of one table.
func (r *Run) unit(u *Unit, n int, stacks stackIDs, add func(p *agg.Partial)) error {
	t := u.Table
	buckets := map[uint64][][]agg.BucketCount{} // by row
	exact := map[uint64][]exactBits{}           // by where the argument's count is
	if t.Value.Sketch {
		err := r.words(u.Sketch[n]).drain(func(key []byte, values []uint64) {
			row, rest := binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:])
			if row&SketchExact != 0 {
				row -= SketchExact
				exact[row] = append(exact[row], exactBits{int64(rest), values[0]})
				return
			}
			lists := buckets[row]
			if lists == nil {
				lists = make([][]agg.BucketCount, len(t.Spec.Args))
				buckets[row] = lists
			}
			arg := rest >> SketchArg
			lists[arg] = append(lists[arg], agg.BucketCount{Bucket: int(rest & (1<<SketchNeg - 1)),
				Negative: rest>>SketchNeg&1 == 1, N: values[0]})
		})
		if err != nil {
			return err
		}
	}
	words := t.Value.Size / 8
	each := func(key []byte, values []uint64, cpu int) {
		for ; len(values) > 0; values, cpu = values[words:], cpu+1 {
			if values[HitsAt/8] == 0 {
				continue
			}
			r.passed.rows[u] += values[HitsAt/8]
			p := reader{r}.partial(u, key, values[:words], stacks)
			p.CPU = cpu
			if t.Value.Sketch {
				row := values[t.Value.Self/8]
				if p.Buckets = buckets[row]; p.Buckets == nil {
					p.Buckets = make([][]agg.BucketCount, len(t.Spec.Args))
				}
				p.Values = make([][]agg.ExactCount, len(t.Spec.Args))
				for i := range t.Value.Args {
					for _, v := range exact[row+uint64(t.Value.Args[i].N)] {
						p.Values[i] = append(p.Values[i],
							agg.ExactCount{Value: event.NumberOf(u.Numbers[i], v.bits), N: v.n})
					}
				}
			}
			add(p)
		}
	}
	all := func(key []byte, values []uint64) { each(key, values, 0) }
	if t.Value.Slots {
		if err := r.slots(u.Slots[n], words, each); err != nil {
			return err
		}
	}
	if len(u.Other) > 0 {
		other := func(_ []byte, values []uint64, cpu int) { each(nil, values, cpu) }
		if err := r.slots(u.Other[n], words, other); err != nil {
			return err
		}
	}
	if len(u.Spare) > 0 {
		if err := r.words(u.Spare[n]).drain(all); err != nil {
			return err
		}
	}
	return r.words(u.Rows[n]).drain(all)
}

// exactBits is how often a value was there, of which only the bits are known.
type exactBits struct {
	bits int64
	n    uint64
}

// slots reads and empties the rows in slots, of so many words, which their keys follow. A
// slot can have another key on each CPU.
func (r *Run) slots(id MapID, words int, each func(key []byte, values []uint64, cpu int)) error {
	m := r.words(id)
	var used []uint32
	var key []byte
	err := m.each(func(i int, values []uint64) {
		for cpu := 0; len(values) > 0; values, cpu = values[m.value:], cpu+1 {
			if values[HitsAt/8] == 0 {
				continue
			}
			if n := len(used); n == 0 || used[n-1] != uint32(i) {
				used = append(used, uint32(i))
			}
			key = key[:0]
			for _, w := range values[words:m.value] {
				key = binary.LittleEndian.AppendUint64(key, w)
			}
			each(key, values[:words], cpu)
		}
	})
	if err != nil || r.state.stopped {
		return err
	}
	zero := make([]uint64, m.value*m.cpus)
	for _, i := range used {
		if err := m.update(binary.LittleEndian.AppendUint32(key[:0], i), zero); err != nil {
			return err
		}
	}
	return nil
}

// partial decodes the value of a row; that of other keys has no key.
func (r reader) partial(u *Unit, key []byte, v []uint64, stacks stackIDs) *agg.Partial {
	t := u.Table
	p := &agg.Partial{First: event.Time(v[FirstAt/8]), Hits: v[HitsAt/8],
		Measures: make([]agg.Measure, len(t.Spec.Args))}
	if p.Other = key == nil && len(t.Cols) > 0; !p.Other {
		p.Key = r.packed(nil, t.Cols, key, stacks)
	}
	word := func(at int) int64 {
		if at < 0 {
			return 0
		}
		return int64(v[at/8])
	}
	for i := range t.Value.Args {
		a := &t.Value.Args[i]
		kind := u.Numbers[i]
		sum := agg.TotalOfWords(kind, 0, 0)
		if a.Sum >= 0 {
			sum = agg.TotalOfWords(kind, word(a.Sum+8), word(a.Sum))
		}
		p.Measures[i] = agg.NewMeasure(v[a.N/8], sum, event.NumberOf(kind, word(a.Min)),
			event.NumberOf(kind, word(a.Max)))
		switch {
		case t.Value.ByKey:
			p.Keys = append(p.Keys, a.clusters(v))
		case a.Spread >= 0:
			p.Spreads = append(p.Spreads, a.spread(v))
		}
		pick(&p.Oldest, u, i, v, a.Oldest)
		pick(&p.Newest, u, i, v, a.Newest)
		pick(&p.Greatest, u, i, v, a.Greatest)
		pick(&p.Least, u, i, v, a.Least)
		if a.Hist >= 0 {
			if p.Hists == nil {
				p.Hists = make([][]uint64, len(t.Spec.Args))
			}
			p.Hists[i] = slices.Clone(v[a.Hist/8 : a.Hist/8+a.Buckets])
		}
	}
	return p
}

// pick decodes a value of argument i that a row keeps, unless it keeps none.
func pick(to *[]agg.Pick, u *Unit, i int, row []uint64, at int) {
	if at < 0 {
		return
	}
	if *to == nil {
		*to = make([]agg.Pick, len(u.Table.Spec.Args))
	}
	a, p := &u.Table.Value.Args[i], &(*to)[i]
	p.Time = event.Time(row[at/8])
	if rank := u.Table.Spec.Args[i].Rank; rank != nil {
		p.Rank = event.NumberOf(rank.Any().Number, int64(row[at/8]))
	}
	words := row[at/8+1:][:a.Room/8]
	if !a.Text {
		p.Value = event.NumberOf(u.Numbers[i], int64(words[0])).Value()
		return
	}
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	p.Value = event.StrOf(string(untilNUL(b)))
}

// packed appends the columns of a key of a map as a key of agg.Group, as key.Append does.
func (r reader) packed(b []byte, cols []Column, k []byte, stacks stackIDs) []byte {
	for _, c := range cols {
		cell := k[c.Off : c.Off+c.Size]
		if c.Stack {
			b = append(b, stacks.id(cell)...)
			continue
		}
		if !c.Text {
			b = append(b, cell...)
			continue
		}
		text := cell[:c.Bytes]
		if c.Bytes == 0 {
			text = r.text(cell)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	return b
}

// untilNUL is a text without the zeros behind it.
func untilNUL(b []byte) []byte {
	if n := slices.Index(b, 0); n >= 0 {
		return b[:n]
	}
	return b
}

// A Loss is the losses since the last one was read.
type Loss struct {
	// Joins is of filters and joins: evaluations that failed, starts that
	// found no room, halves of pairs; and events that came while a program
	// interrupted itself.
	Joins event.Loss
	// Groups are evaluations that failed and rows that found no room.
	Groups map[*agg.Spec]event.Loss
}

// CountsTaken is how many events the programs have taken so far, by CPU; Part.Counted
// has them counted.
func (r *Run) CountsTaken() ([]uint64, error) {
	taken := make([]uint64, r.cpus)
	for i := range r.im.Events {
		of, err := TakenOf(r, i)
		if err != nil {
			return nil, err
		}
		for cpu, n := range of {
			taken[cpu] += n
		}
	}
	return taken, nil
}

// passCounts counts the events of the programs that passed the predicates in front of a reader.
type passCounts struct {
	rows map[*Unit]uint64 // those in the rows that were read
	told uint64
}

// Passed is how many events passed the predicates in front of a reader since the last call, of the reader
// that most of a program's events reached; events that are sent are left to their receiver. It comes behind
// Rows.
func (r *Run) Passed() (uint64, error) {
	n, all := r.im.stats(), uint64(0)
	for i, readers := range r.im.Readers {
		if r.maps[StatsMap.Of(i)] == nil {
			continue // one of the events of another program
		}
		stats := make([]uint64, n)
		err := r.words(StatsMap.Of(i)).each(func(_ int, values []uint64) {
			for k, v := range values {
				stats[k%n] += v
			}
		})
		if err != nil {
			return 0, fmt.Errorf("read what passed: %w", err)
		}
		most, sent := uint64(0), uint64(0)
		for k, reader := range readers {
			own := stats[StatReader(len(r.im.Tables), k)]
			if t := reader.Table; t != nil {
				own = stats[t.StatRowless()]
				for _, u := range r.im.Units {
					if u.Table == t && u.Program == i {
						own += r.passed.rows[u]
					}
				}
				if reader.Late && r.state.stopped {
					own += stats[StatPostponed] - stats[StatCame] // they never will
				}
			}
			if most = max(most, own); reader.Sent {
				sent = max(sent, own)
			}
		}
		all += most - sent
	}
	since := all - min(r.passed.told, all)
	r.passed.told = max(r.passed.told, all)
	return since, nil
}

// TakenOf is how many events the program of one has taken so far, by CPU; nil if another program takes them.
func TakenOf(r *Run, event int) (taken []uint64, err error) {
	if r.maps[StatsMap.Of(event)] == nil {
		return nil, nil
	}
	n := r.im.stats()
	taken = make([]uint64, r.cpus)
	err = r.words(StatsMap.Of(event)).each(func(_ int, values []uint64) {
		for cpu := range taken {
			taken[cpu] += values[cpu*n+StatTaken]
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read what was taken: %w", err)
	}
	return taken, nil
}

// MissesOf is how often the kernel did not run the program of an event, since it ran already on that CPU.
func MissesOf(r *Run, event int) uint64 {
	return misses(r, func(p *Program) bool { return p.Event == event })
}

// misses is how often the kernel did not run some of the programs, since others ran.
func misses(r *Run, which func(p *Program) bool) (missed uint64) {
	for i, p := range r.progs {
		if p == nil || r.im.Programs[i].Event < 0 || !which(&r.im.Programs[i]) {
			continue
		}
		if st, err := p.Stats(); err == nil {
			missed += st.RecursionMisses
		}
	}
	return missed
}

// allMisses is how often the kernel ran no program while the run went on, and how many hits probes missed
// meanwhile.
func allMisses(r *Run) (programs, probes uint64) {
	if r.state.ended {
		return r.state.missedBy, r.missing.closed
	}
	return misses(r, func(*Program) bool { return true }) - r.state.missedBefore, r.missing.sum()
}

// Loss returns the losses since the last call.
func (r *Run) Loss() (Loss, error) {
	n := r.im.stats()
	now := make([]uint64, n)
	for i := range r.im.Events {
		if r.maps[StatsMap.Of(i)] == nil {
			continue // one of the events of another program
		}
		err := r.words(StatsMap.Of(i)).each(func(_ int, values []uint64) {
			for k, v := range values {
				now[k%n] += v
			}
		})
		if err != nil {
			return Loss{}, fmt.Errorf("read losses: %w", err)
		}
	}
	if r.before == nil {
		r.before = make([]uint64, n)
	}
	// Events whose texts have not come when the run ends miss the ends of their calls.
	if now[StatPostponed] -= now[StatCame]; r.state.stopped {
		now[StatUnmatched] += now[StatPostponed]
	}
	since := func(stat int) uint64 { return now[stat] - r.before[stat] }
	l := Loss{Groups: map[*agg.Spec]event.Loss{}, Joins: event.Loss{Errors: since(StatErrors),
		Unmatched: since(StatUnmatched) + since(StatEndsAlone), EndsAlone: since(StatEndsAlone),
		Evicted: since(StatEvicted), Broken: since(StatBroken)}}
	for _, t := range r.im.Tables {
		l.Groups[t.Spec] = event.Loss{Errors: since(t.StatErrors()), Evicted: since(t.StatEvicted())}
	}
	missed, probes := allMisses(r)
	r.missing.look(missed-r.missed+probes-r.missing.reported > 0)
	l.Joins.Lost = missed - r.missed + probes - r.missing.reported + since(StatLost)
	r.missed, r.missing.reported = missed, probes
	l.Joins.Evicted += r.swept.evicted - r.swept.told
	r.swept.told = r.swept.evicted
	r.before = now
	return l, nil
}
