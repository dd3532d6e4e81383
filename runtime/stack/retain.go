package stack

// This file frees stacks that are not needed any more. Each new program has
// stacks of its own, so in a run of hours the table would fill up with stacks
// of ended programs.
//
// The owner of the Table has to list the numbers that are still in use. The
// tempting way, to count the references to each stack, would have a cost for
// every event, while this has a cost once in a million events.

// Crowded reports that it is worth calling Retain: a thirty-second of the table is full (a
// sixteenth of a small one), and it has twice the stacks that the last Retain left.
func (t *Table) Crowded() bool {
	stacks, words := min(t.opt.Stacks/16, DefaultStacks/32), min(t.opt.Words/16, DefaultWords/32)
	return t.Len() > max(stacks, 2*t.omitted[0]) || t.words > max(words, 2*t.omitted[1])
}

// maxSpare bounds the blocks of words that are kept for reuse.
const maxSpare = 4

// Reset forgets all stacks. Their numbers must not be used again.
func (t *Table) Reset() {
	t.Retain(nil)
	t.evicted = 0
}

// Retain forgets all stacks except the ones with the given numbers; numbers
// without a stack are ignored. The remaining stacks keep their numbers; other
// numbers are used again. Options.Fresh is called for the remaining stacks.
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
	// For a process without stacks, its program counts as the first one again.
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
