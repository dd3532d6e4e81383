package join

import "ppscript/runtime/operator/key"

// rows is the table of keys: at most one event waits for each.
//
// A key keeps its row in the table when its event goes: most keys (threads,
// CPUs) come again at once, and looking one up is cheaper than deleting and
// inserting it. Keys that do not come again (addresses) are swept away when
// they are too many.
type rows struct {
	ints  *key.Ints
	texts *key.Texts
	keys  []int64 // by row, if the keys are integers
	at    []int32 // by row: the waiting event, or nobody, or noKey
	loads int32   // keeps loads of memory from being left out
	empty int     // rows whose key is in the table but nobody waits
}

// noKey stands in place of the waiting event where a row has no key.
const noKey = -2

// sweepAt is the number of empty rows below which no sweep is done.
const sweepAt = 4096

func newRows(integer bool) *rows {
	t := &rows{}
	// The join bounds the waiting events itself, so the table needs no limit.
	const noLimit = 1<<31 - 1
	if integer {
		t.ints = key.NewInts(noLimit)
	} else {
		t.texts = key.NewTexts(noLimit)
	}
	return t
}

// insert returns the row of a key that is not there.
func (t *rows) insert(k int64, pack []byte) int32 {
	var row int32
	if t.ints != nil {
		row, _ = t.ints.Insert(k)
	} else {
		row, _ = t.texts.Insert(pack)
	}
	for int(row) >= len(t.at) {
		t.at = append(key.Grow(t.at), nobody)
		t.keys = append(key.Grow(t.keys), 0)
	}
	t.keys[row], t.at[row] = k, nobody
	t.empty++
	return row
}

// sweep deletes the keys of empty rows.
//
// Slow path: once in as many events as rows are swept.
func (t *rows) sweep() {
	var batch [ahead]int32
	n := 0
	for row, w := range t.at {
		if w != nobody {
			continue
		}
		batch[n] = int32(row)
		if n++; n == len(batch) {
			t.drop(batch[:n])
			n = 0
		}
	}
	t.drop(batch[:n])
	t.empty = 0
}

// drop deletes the keys of some rows.
func (t *rows) drop(rows []int32) {
	for _, row := range rows {
		t.at[row] = noKey
	}
	if t.texts != nil {
		for _, row := range rows {
			t.texts.Delete(t.texts.Key(row))
		}
		return
	}
	var keys [ahead]int64
	for i, row := range rows {
		keys[i] = t.keys[row]
	}
	t.loads += t.ints.Touch(keys[:len(rows)])
	for _, k := range keys[:len(rows)] {
		t.ints.Delete(k)
	}
}
