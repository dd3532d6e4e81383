package mergeable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// This file reads frames, which may come from anyone. The length of a frame bounds the memory that
// its members need: only the form of a histogram contains a size that memory is allocated for.

const (
	maxDepth    = 4       // of values nested in lists
	maxCounters = 1 << 14 // counters of a histogram
	maxColumns  = 256
)

var errForm = errors.New("this is no frame of partial results")

// A decoder reads messages. It keeps the first error.
type decoder struct {
	err   error
	depth int
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{errForm}, args...)...)
	}
}

// A member is one field of a message: its number, its wire type, and its value
// in num or bytes.
type member struct {
	n     protowire.Number
	wire  protowire.Type
	num   uint64
	bytes []byte
}

func (m *member) int() int64     { return protowire.DecodeZigZag(m.num) }
func (m *member) text() string   { return string(m.bytes) }
func (m *member) float() float64 { return math.Float64frombits(m.num) }

// members calls fn for the members of a message.
func (d *decoder) members(b []byte, fn func(m *member)) {
	for len(b) > 0 && d.err == nil {
		var m member
		var n int
		if m.n, m.wire, n = protowire.ConsumeTag(b); n < 0 {
			d.fail("%w", protowire.ParseError(n))
			return
		}
		b = b[n:]
		switch m.wire {
		case protowire.VarintType:
			m.num, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			m.num, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			m.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(m.n, m.wire, b)
		}
		if n < 0 {
			d.fail("%w", protowire.ParseError(n))
			return
		}
		b = b[n:]
		fn(&m)
	}
}

// packed reads a list of numbers.
func (d *decoder) packed(b []byte) (list []uint64) {
	for len(b) > 0 && d.err == nil {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			d.fail("%w", protowire.ParseError(n))
			return nil
		}
		list, b = append(list, v), b[n:]
	}
	return list
}

// small converts a number to an int; more than 1<<30 is an error.
func (d *decoder) small(v uint64) int {
	if v > 1<<30 {
		d.fail("got the number %d", v)
		return 0
	}
	return int(v)
}

// Decode reads a frame. The frame shares no memory with b.
func Decode(b []byte) (*Frame, error) { return decode(b, true) }

// Head reads a frame without its results.
func Head(b []byte) (*Frame, error) { return decode(b, false) }

func decode(b []byte, results bool) (*Frame, error) {
	if len(b) > MaxFrame {
		return nil, fmt.Errorf("%w: got %d bytes, want at most %d", errForm, len(b), MaxFrame)
	}
	d, f := &decoder{}, &Frame{}
	version := uint64(0)
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			version = m.num
		case 2:
			f.Host = m.text()
		case 3:
			if copy(f.Script[:], m.bytes) != len(m.bytes) || len(m.bytes) != len(f.Script) {
				d.fail("the hash has %d bytes", len(m.bytes))
			}
		case 4:
			f.Seq = m.num
		case 5:
			f.Begin = m.int()
		case 6:
			f.End = m.int()
		case 7:
			f.More = m.num != 0
		case 8:
			f.Final = m.num != 0
		case 9:
			if results {
				f.Results = append(f.Results, d.result(m.bytes))
			}
		case 10:
			f.Shares = append(f.Shares, d.shareOf(m.bytes))
		}
	})
	for i := range f.Shares { // the times of shares are relative to the frame's
		f.Shares[i].Begin += f.Begin
		f.Shares[i].End += f.End
	}
	switch {
	case d.err != nil:
	case version != Version:
		d.fail("got version %d, want %d", version, Version)
	case f.Begin > f.End:
		d.fail("the window ends before it begins")
	}
	if d.err != nil {
		return nil, d.err
	}
	return f, nil
}

func (d *decoder) shareOf(b []byte) (s Share) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			s.Host = m.text()
		case 2:
			s.Seq = m.num
		case 3:
			s.Dropped = m.num
		case 4:
			s.Begin = m.int()
		case 5:
			s.End = m.int()
		case 6:
			s.More = m.num != 0
		case 7:
			s.Final = m.num != 0
		case 8:
			s.Frame = bytes.Clone(m.bytes)
		}
	})
	return s
}

func (d *decoder) result(b []byte) (r Result) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			r.Kind = Kind(m.num)
		case 2:
			r.Name = m.text()
		case 3:
			r.Title = m.text()
		case 4:
			r.Samples = m.num
		case 5:
			r.TotalSamples = m.num
		case 6:
			r.Loss = lossOf(d.packed(m.bytes))
		case 7:
			form := d.form(m.bytes)
			r.Form = &form
		case 8:
			r.Rows = append(r.Rows, d.row(m.bytes))
		case 9:
			r.Lines = append(r.Lines, m.text())
		case 10:
			r.Omitted = m.num
		case 11:
			r.Stacks = d.stacks(m.bytes)
		case 12:
			r.Host = m.text()
		case 13:
			r.Costs = d.costs(m.bytes)
		}
	})
	if d.err == nil {
		d.check(&r)
	}
	return r
}

// check reports an error if the members of a result do not fit its kind or its
// form.
func (d *decoder) check(r *Result) {
	tabular := r.Kind == Table || r.Kind == Histogram
	switch {
	case r.Kind < Table || r.Kind > Lines:
		d.fail("got a result of kind %d", r.Kind)
	case tabular != (r.Form != nil), (r.Kind == Stacks) != (r.Stacks != nil):
		d.fail("a result of kind %d has other members", r.Kind)
	case !tabular && len(r.Rows) > 0, r.Kind != Lines && len(r.Lines) > 0:
		d.fail("a result of kind %d has rows or lines", r.Kind)
	case r.Kind == Histogram && (len(r.Form.Aggs) != 1 || !r.Form.Aggs[0].Op.Histogram()):
		d.fail("a histogram has other aggregators")
	}
	if d.err != nil || !tabular {
		return
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		keys := r.Form.Keys
		if row.Other {
			keys = 0
		}
		if len(row.Key) != keys || len(row.Measures) != r.Form.Args || len(row.Names) > keys {
			d.fail("row %d does not fit its form", i+1)
			return
		}
		for k := range row.Called {
			if row.Called[k].Agg >= len(r.Form.Aggs) {
				d.fail("row %d has a name for aggregator %d of %d", i+1, row.Called[k].Agg, len(r.Form.Aggs))
				return
			}
		}
	}
}

// countsOf returns the counters of a Loss in the order of event.Loss.Counts, and after them
// EndsAlone.
func countsOf(l *event.Loss) (counts []uint64) {
	for _, c := range l.Counts() {
		counts = append(counts, c.N)
	}
	return append(counts, l.EndsAlone)
}

// lossOf makes a Loss from the list that countsOf returns.
func lossOf(counts []uint64) (l event.Loss) {
	to := []*uint64{&l.Lost, &l.Dropped, &l.Late, &l.Truncated, &l.Unmatched, &l.Broken, &l.Evicted,
		&l.Errors, &l.Throttled, &l.EndedEarly, &l.EndsAlone}
	for i, n := range counts[:min(len(counts), len(to))] {
		*to[i] = n
	}
	return l
}

func (d *decoder) form(b []byte) (f Form) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			f.Columns = append(f.Columns, d.column(m.bytes))
		case 2:
			f.Keys = d.small(m.num)
		case 3:
			f.Aggs = append(f.Aggs, d.agg(m.bytes))
		case 4:
			f.Args = d.small(m.num)
		}
	})
	if d.err != nil {
		return f
	}
	if len(f.Columns) != f.Keys+len(f.Aggs) || len(f.Columns) > maxColumns || f.Args > len(f.Aggs) {
		d.fail("got %d columns, %d keys, %d aggregators", len(f.Columns), f.Keys, len(f.Aggs))
	}
	for i := range f.Columns {
		if i < f.Keys {
			f.Columns[i].Kind = result.KeyColumn
		}
	}
	for i := range f.Aggs {
		if f.Aggs[i].Arg >= f.Args {
			d.fail("aggregator %d is of argument %d of %d", i+1, f.Aggs[i].Arg, f.Args)
		}
	}
	if d.err == nil {
		if err := agg.CheckPortable(f.Aggs); err != nil {
			d.fail("%w", err)
		}
	}
	return f
}

func (d *decoder) column(b []byte) (c result.Column) {
	c.Prec = -1
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			c.Name = m.text()
		case 2:
			c.Head = m.text()
		case 3:
			c.Hex, c.Left = m.num&flagHex != 0, m.num&flagLeft != 0
		case 4:
			c.Width = min(d.small(m.num), 200)
		case 5:
			c.Prec = min(d.small(m.num), 20) - 1
		case 6:
			c.Merging = result.Merging(min(m.num, uint64(result.Greatest)))
		case 7:
			c.Unit = d.unit(m.bytes)
		}
	})
	return c
}

func (d *decoder) unit(b []byte) (u unit.Unit) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			u.Symbol = m.text()
		case 2:
			u.Base = m.text()
		case 3:
			u.Scale = m.float()
		case 4:
			u.Prec = min(d.small(m.num), 20)
		}
	})
	if !(u.Scale > 0) || math.IsInf(u.Scale, 0) {
		d.fail("a unit of %v", u.Scale)
	}
	return u
}

// linear reads a linear function that is applied to the numbers of an
// aggregator.
func (d *decoder) linear(b []byte) agg.Linear {
	l := agg.Linear{}
	d.members(b, func(m *member) {
		if m.n != 1 {
			return
		}
		var s agg.LinearStep
		d.members(m.bytes, func(m *member) {
			switch m.n {
			case 1:
				s.Op = byte(min(m.num, math.MaxUint8))
			case 2:
				s.Const = m.float()
			}
		})
		l = append(l, s)
	})
	return l
}

func (d *decoder) agg(b []byte) (a agg.Agg) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			i := slices.IndexFunc(agg.Ops, func(op *agg.Op) bool { return op.Name == m.text() })
			if i < 0 {
				d.fail("got the aggregator %q", m.text())
				return
			}
			a.Op = agg.Ops[i]
		case 2:
			a.Arg = d.small(m.num)
		case 3:
			a.Q = m.float()
		case 4:
			a.N = d.small(m.num)
		case 5:
			a.Lo = m.int()
		case 6:
			a.Hi = m.int()
		case 7:
			a.Step = m.int()
		case 8:
			a.Type = d.typeOf(m.bytes)
		case 9:
			a.Linear = d.linear(m.bytes)
		}
	})
	switch {
	case d.err != nil:
	case a.Op == nil:
		d.fail("an aggregator has no name")
	case a.Linear != nil && (!a.Linear.Valid() || !a.Op.Moves(a.Linear)):
		d.fail("got the %s of the function %s", a.Op.Name, a.Linear)
	case !(a.Q >= 0 && a.Q <= 1):
		d.fail("got the quantile %v", a.Q)
	case a.Op == agg.LHist:
		if a.Step <= 0 || a.Hi <= a.Lo || a.Hi-a.Lo < 0 || (a.Hi-a.Lo)/a.Step >= maxCounters ||
			a.Hi-a.Lo > math.MaxInt64-a.Step {
			d.fail("got a histogram from %d to %d in steps of %d", a.Lo, a.Hi, a.Step)
		}
	}
	return a
}

func (d *decoder) typeOf(b []byte) (t event.Type) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			t.Kind = event.TypeKind(min(m.num, uint64(event.TypeAny)))
		case 2:
			t.Unsigned = m.num != 0
		case 3:
			t.Unit = event.Unit(min(m.num, 255))
		}
	})
	return t
}

func (d *decoder) row(b []byte) (r Row) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			r.Key = append(r.Key, d.value(m.bytes))
		case 2:
			list := d.packed(m.bytes)
			if len(list)%measureWords != 0 {
				d.fail("a row has a part of a measure")
				return
			}
			for ; len(list) > 0; list = list[measureWords:] {
				sum, low := d.number(list[1], list[2]), d.number(list[1], list[3])
				r.Measures = append(r.Measures, agg.NewMeasure(list[0],
					agg.TotalOfWords(sum.Kind(), sum.Bits(), low.Bits()), d.number(list[4], list[5]),
					d.number(list[6], list[7])))
			}
		case 3:
			r.Contents = append(r.Contents, d.content(m.bytes))
		case 4:
			r.Other = m.num != 0
		case 5:
			r.Names = append(r.Names, m.text())
		case 6:
			r.Doubts = d.doubts(m.bytes)
		case 7:
			r.Called = append(r.Called, d.called(m.bytes))
		}
	})
	return r
}

func (d *decoder) called(b []byte) (c KernelName) {
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			c.Agg = d.small(m.num)
		case 2:
			c.Value = d.value(m.bytes)
		case 3:
			c.Name = m.text()
		}
	})
	return c
}

func (d *decoder) content(b []byte) (c agg.Content) {
	counted := 0
	d.members(b, func(m *member) {
		switch m.n {
		case 1:
			list := d.packed(m.bytes)
			if len(list)%2 != 0 {
				d.fail("a number has no bits")
				return
			}
			for ; len(list) > 0; list = list[2:] {
				c.Values = append(c.Values, d.number(list[0], list[1]))
			}
		case 2:
			list := d.packed(m.bytes)
			if len(list)%2 != 0 {
				d.fail("a bucket has no count")
				return
			}
			for ; len(list) > 0; list = list[2:] {
				c.Buckets = append(c.Buckets, agg.BucketCount{Bucket: d.bucket(list[0] / 2),
					Negative: list[0]%2 == 1, N: list[1]})
			}
		case 3:
			c.N = m.num
		case 4:
			c.Least = d.numberOf(m)
		case 5:
			c.Greatest = d.numberOf(m)
		case 6:
			c.Counters = d.packed(m.bytes)
		case 7:
			c.Counts = append(c.Counts, agg.ValueCount{Value: d.value(m.bytes)})
		case 8:
			if counted++; counted > len(c.Counts) {
				d.fail("a count has no value")
				return
			}
			c.Counts[counted-1].N = m.num
		case 9:
			c.Packed = append(c.Packed, m.text())
		case 10:
			c.First = d.numberOf(m)
		case 11:
			c.Mean = m.float()
		case 12:
			c.Squares = m.float()
		case 13:
			c.Floats = m.num != 0
		case 14:
			c.Scale = d.small(m.num)
		}
	})
	return c
}

// bucket reads the number of a bucket. Buckets of doubles may have negative
// numbers.
func (d *decoder) bucket(v uint64) int {
	const most = 1 << 21
	n := protowire.DecodeZigZag(v)
	if n < -most || n > most {
		d.fail("got bucket %d", n)
		return 0
	}
	return int(n)
}
