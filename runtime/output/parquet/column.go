package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"ppscript/runtime/text/plain"
)

// A class is the type of a column; none if the column has no value yet.
type class uint8

const (
	none    class = iota
	integer       // 64 bits: signed, or unsigned if a value needs that
	moment        // ns since 1970, UTC
	real
	truth
	text
	classes
)

// A column is a column of a file. Its values are of the current group of rows,
// which is not written yet.
type column struct {
	name  string
	class class
	unit  string // unit of its numbers, "" for none
	key   bool   // its values identify rows

	present []byte // by row: 1 if the row has a value; it may be shorter than the group
	nums    []int64
	words   words
	index   []uint32 // numbers of texts in words
	large   bool     // a number needs the unsigned type
	below   bool     // a number is negative
	born    int      // number of groups that were written before the column was added
	chunks  []chunk  // the chunks of the later groups
}

// words is the dictionary of a group's texts.
type words struct {
	of  map[string]uint32
	all []byte // as in the dictionary's page: size and bytes of each text
}

// A chunk is the part of a column that is in a group.
type chunk struct {
	at, dictAt   int64 // offsets of its pages; dictAt is 0 without a dictionary
	size, packed int64 // in bytes, before and after compression, with headers
	values       int
	nulls        int
	least, most  int64 // bounds of integers and moments, signed or unsigned like the column
}

// at marks that the next value belongs to a row. Rows since the last value have
// none.
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

// text adds a text. Bytes that are no UTF-8 are escaped as \xff by plain.Valid, since readers
// refuse them.
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

// full reports whether the dictionary has reached its bounds, so that the group
// must end.
func (w *words) full() bool { return len(w.of) >= maxWords || len(w.all) >= maxWordBytes }

// clear removes the values, for the next group.
func (c *column) clear() {
	c.present, c.nums, c.index = c.present[:0], c.nums[:0], c.index[:0]
	clear(c.words.of)
	c.words.all = c.words.all[:0]
}

// values appends the values of the group in the form of a page, and returns the
// encoding.
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
			break // there is no dictionary either
		}
		width := max(bits.Len(uint(len(c.words.of)-1)), 1)
		return appendHybrid(append(dst, byte(width)), c.index, width), dictEncoding
	}
	return dst, plainEncoding
}

// bounds returns the smallest and the largest number.
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
