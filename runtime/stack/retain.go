package stack

// This file gives up stacks that nobody needs any more. Where programs come and
// go, each brings stacks of its own: in a run of hours the table would fill up
// with those of the dead.
//
// The owner of the Table knows the holders of numbers of stacks. The
// tempting way, to count the references to each, would cost something for every
// event, where this costs something once for a million.

// Crowded reports that it is worth the time to give up stacks that nobody
// needs: the table is full to a thirty-second part (a sixteenth of a small one), and holds twice the stacks
// that were needed when this was last done.
func (t *Table) Crowded() bool {
	stacks, words := min(t.opt.Stacks/16, DefaultStacks/32), min(t.opt.Words/16, DefaultWords/32)
	return t.Len() > max(stacks, 2*t.omitted[0]) || t.words > max(words, 2*t.omitted[1])
}

// maxSpare bounds the blocks of words that are kept to be filled again.
const maxSpare = 4

// Reset forgets all stacks. Their numbers must not be used again.
func (t *Table) Reset() {
	t.Retain(nil)
	t.evicted = 0
}

// Retain forgets all stacks but the stacks of the given numbers; a number without
// a stack counts for nothing. Those that stay keep their numbers, the others'
// are used again. Options.Fresh is called for those that stay.
func (t *Table) Retain(numbers map[ID]bool) {
	left, pids := 0, map[int32]bool{}
	for i := range t.entries {
		e := &t.entries[i]
		if e.n == 0 || !numbers[ID(i)+first] {
			*e = entry{}
			continue
		}
		left++
		pids[e.pid] = true
	}
	// Of a process without stacks the next is as good as its first.
	for pid := range t.images {
		if !pids[pid] {
			delete(t.images, pid)
		}
	}
	size := max(1<<10, min(len(t.slots), 1<<14))
	for size < 4*left {
		size *= 2
	}
	if size == len(t.slots) {
		clear(t.slots)
	} else {
		t.alloc(size)
	}
	old := t.blocks
	t.blocks, t.words, t.unused = nil, 0, t.unused[:0]
	if left == 0 {
		t.entries = t.entries[:0]
	}
	for i := range t.entries {
		e := &t.entries[i]
		if e.n == 0 {
			t.unused = append(t.unused, ID(i)+first)
			continue
		}
		chain := chainIn(old, e)
		e.at = t.keep(chain)
		t.put(slot{t.hash(e.pid, e.image, chain), uint32(i) + uint32(first)})
		t.look(e)
	}
	t.omitted = [2]int{t.Len(), t.words}
	t.spare = old[:min(len(old), maxSpare)]
}
