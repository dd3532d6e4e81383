package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"ppscript/runtime/text/plain"
)

// A class is the type of a column. A column of none has no value yet.
type class uint8

const (
	none    class = iota
	integer       // of 64 bits: signed, or unsigned if one needs that
	moment        // ns since 1970, UTC
	real
	truth
	text
	classes
)

// A column is one of a file. What it holds is of the group that is gathered.
type column struct {
	name  string
	class class
	unit  string // of its numbers, "" for none
	key   bool   // tells rows apart

	present []byte // by row: 1 if it has a value; rows at the end may be missing
	nums    []int64
	words   words
	index   []uint32 // of words
	large   bool     // some number needs the unsigned form
	below   bool     // some number is below 0
	born    int      // how many groups there were before it
	chunks  []chunk  // since then
}

// words are the dictionary of texts.
type words struct {
	of  map[string]uint32
	all []byte // in the form of the page: sizes and bytes
}

// A chunk is the part of a column that is in a group.
type chunk struct {
	at, dictAt   int64 // where its pages are; dictAt is 0 without a dictionary
	size, packed int64 // in bytes, before and after compression, with headers
	values       int
	nulls        int
	least, most  int64 // of integers and moments, as the column compares them
}

// at makes the next value that of a row. Rows since the last value have none.
func (c *column) at(row int) {
	if n := row - len(c.present); n > 0 {
		c.present = append(c.present, make([]byte, n)...)
	}
	c.present = append(c.present, 1)
}

func (c *column) num(row int, v int64) {
	c.at(row)
	c.nums = append(c.nums, v)
}

func (c *column) float(row int, v float64) { c.num(row, int64(math.Float64bits(v))) }

// text adds a text. Readers refuse bytes that are no UTF-8: they become \xff, as in plain.Valid.
func (c *column) text(row int, s []byte) {
	i, known := c.words.of[string(s)]
	if !known {
		if !utf8.Valid(s) {
			c.text(row, []byte(plain.Valid(string(s))))
			return
		}
		i = c.words.add(s)
	}
	c.at(row)
	c.index = append(c.index, i)
}

func (w *words) add(s []byte) uint32 {
	if w.of == nil {
		w.of = map[string]uint32{}
	}
	i := uint32(len(w.of))
	w.of[string(s)] = i
	w.all = append(binary.LittleEndian.AppendUint32(w.all, uint32(len(s))), s...)
	return i
}

// full reports that a dictionary has its size: the group ends.
func (w *words) full() bool { return len(w.of) >= maxWords || len(w.all) >= maxWordBytes }

// clear is for the next group.
func (c *column) clear() {
	c.present, c.nums, c.index = c.present[:0], c.nums[:0], c.index[:0]
	clear(c.words.of)
	c.words.all = c.words.all[:0]
}

// values appends those of the group as its page has them, and says in which encoding.
func (c *column) values(dst []byte) ([]byte, int) {
	switch c.class {
	case integer, moment:
		if len(c.nums) > 0 {
			return appendDeltas(dst, c.nums), deltaEncoding
		}
	case real:
		for _, v := range c.nums {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	case truth:
		for some := range slices.Chunk(c.nums, 8) {
			b := byte(0)
			for i, v := range some {
				b |= byte(v&1) << i
			}
			dst = append(dst, b)
		}
	case text:
		if len(c.index) == 0 {
			break // no dictionary either
		}
		width := max(bits.Len(uint(len(c.words.of)-1)), 1)
		return appendHybrid(append(dst, byte(width)), c.index, width), dictEncoding
	}
	return dst, plainEncoding
}

// bounds are the smallest and largest number.
func (c *column) bounds() (least, most int64) {
	if len(c.nums) == 0 {
		return 0, 0
	}
	if c.large {
		least, most := uint64(math.MaxUint64), uint64(0)
		for _, v := range c.nums {
			least, most = min(least, uint64(v)), max(most, uint64(v))
		}
		return int64(least), int64(most)
	}
	return slices.Min(c.nums), slices.Max(c.nums)
}
