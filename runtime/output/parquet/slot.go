package parquet

import (
	"encoding/json"
	"math"

	"ppscript/runtime/event"
)

// This file finds the column for a value. The first value of a name determines the class of
// its column; values of other classes get another column, NAME_2, so that all values are kept
// unchanged. Whole numbers are stored in a column of fractions if they are exact there.

// A slot has the columns for the values of one name.
type slot struct {
	first *column
	by    [classes + 2]*column
}

// These additional indexes are for integers that do not fit the column of the other
// integers: large ones if that has negative numbers, and negative ones if that has large
// numbers.
const (
	natural = classes + iota
	below
)

// slot makes a slot, with a column of the name.
func (f *file) slot(name string) *slot { return &slot{first: f.column(name)} }

// of returns the column for values of a class.
func (s *slot) of(f *file, k class) *column {
	if c := s.by[k]; c != nil {
		return c
	}
	c := s.first
	if c.class != none {
		c = f.column(s.first.name)
		c.unit, c.key = s.first.unit, s.first.key
	}
	switch c.class = k; k {
	case natural:
		c.class, c.large = integer, true
	case below:
		c.class = integer
	}
	s.by[k] = c
	return c
}

func (s *slot) signed(f *file, v int64) {
	c := s.of(f, integer)
	if v < 0 && c.large {
		c = s.of(f, below)
	}
	c.below = c.below || v < 0
	c.num(f.row, v)
}

func (s *slot) unsigned(f *file, v uint64) {
	k := integer
	if v > math.MaxInt64 {
		if c := s.by[integer]; c != nil && c.below {
			k = natural
		}
	}
	c := s.of(f, k)
	c.large = c.large || v > math.MaxInt64
	c.num(f.row, int64(v))
}

func (s *slot) float(f *file, v float64) { s.of(f, real).float(f.row, v) }

func (s *slot) moment(f *file, ns int64) { s.of(f, moment).num(f.row, ns) }

func (s *slot) text(f *file, v []byte) { s.of(f, text).text(f.row, v) }

// value adds a value of any kind. Lists are stored as JSON texts.
func (s *slot) value(f *file, v event.Value) {
	switch v.Kind {
	case event.None:
	case event.StrValue:
		s.text(f, []byte(v.String()))
	case event.FloatValue:
		s.float(f, v.Float())
	case event.BoolValue:
		n := int64(0)
		if v.Bool() {
			n = 1
		}
		s.of(f, truth).num(f.row, n)
	case event.ListValue:
		s.text(f, []byte(asJSON(plainList(v))))
	case event.UintValue:
		s.number(f, float64(v.Uint()), func() { s.unsigned(f, v.Uint()) })
	default:
		if v.Kind != event.IntValue && s.first.unit == "" {
			s.first.unit = "ns"
		}
		s.number(f, float64(v.Int()), func() { s.signed(f, v.Int()) })
	}
}

// exact is the number up to which a double can represent all whole numbers.
const exact = 1 << 53

// number adds a whole number: as a fraction if the column has fractions, else
// by whole.
func (s *slot) number(f *file, v float64, whole func()) {
	if s.by[real] == s.first && math.Abs(v) <= exact {
		s.float(f, v)
		return
	}
	whole()
}

// plainList converts the members of a list for encoding/json.
func plainList(v event.Value) []any {
	list := []any{}
	for _, m := range v.List() {
		switch {
		case m.Kind == event.None || m.Kind == event.FloatValue &&
			(math.IsNaN(m.Float()) || math.IsInf(m.Float(), 0)):
			list = append(list, nil)
		case m.Kind == event.ListValue:
			list = append(list, plainList(m))
		case m.Kind == event.BoolValue:
			list = append(list, m.Bool())
		case m.Numeric():
			list = append(list, json.Number(m.String()))
		default:
			list = append(list, m.String())
		}
	}
	return list
}
