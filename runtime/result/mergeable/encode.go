package mergeable

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// An encoder appends members to a message. Members that are zero are left out.
type encoder struct{ b []byte }

func (e *encoder) uint(n protowire.Number, v uint64) {
	if v != 0 {
		e.b = protowire.AppendVarint(protowire.AppendTag(e.b, n, protowire.VarintType), v)
	}
}

func (e *encoder) int(n protowire.Number, v int64) { e.uint(n, protowire.EncodeZigZag(v)) }

func (e *encoder) bool(n protowire.Number, v bool) {
	if v {
		e.uint(n, 1)
	}
}

func (e *encoder) float(n protowire.Number, v float64) {
	if v != 0 {
		e.b = protowire.AppendFixed64(protowire.AppendTag(e.b, n, protowire.Fixed64Type), math.Float64bits(v))
	}
}

func (e *encoder) text(n protowire.Number, s string) {
	if s != "" {
		e.always(n, s)
	}
}

// always appends a text even if it is empty, since its position in a list
// matters.
func (e *encoder) always(n protowire.Number, s string) {
	e.b = protowire.AppendString(protowire.AppendTag(e.b, n, protowire.BytesType), s)
}

// packed appends a list of numbers.
func (e *encoder) packed(n protowire.Number, list []uint64) {
	if len(list) == 0 {
		return
	}
	size := 0
	for _, v := range list {
		size += protowire.SizeVarint(v)
	}
	e.b = protowire.AppendVarint(protowire.AppendTag(e.b, n, protowire.BytesType), uint64(size))
	for _, v := range list {
		e.b = protowire.AppendVarint(e.b, v)
	}
}

// message appends one member that contains the members appended by fn.
func (e *encoder) message(n protowire.Number, fn func()) {
	e.b = protowire.AppendTag(e.b, n, protowire.BytesType)
	at := len(e.b)
	fn()
	// The length precedes the contents, which are moved by the few bytes that
	// it needs.
	size := len(e.b) - at
	room := protowire.SizeVarint(uint64(size))
	e.b = append(e.b, make([]byte, room)...)
	copy(e.b[at+room:], e.b[at:at+size])
	protowire.AppendVarint(e.b[:at], uint64(size))
}

// Append appends the frame.
func (f *Frame) Append(b []byte) []byte {
	e := &encoder{b}
	e.uint(1, Version)
	e.text(2, f.Host)
	e.always(3, string(f.Script[:]))
	e.uint(4, f.Seq)
	e.int(5, f.Begin)
	e.int(6, f.End)
	e.bool(7, f.More)
	e.bool(8, f.Final)
	for i := range f.Results {
		e.message(9, func() { e.result(&f.Results[i]) })
	}
	for i := range f.Shares {
		e.message(10, func() { e.share(f, &f.Shares[i]) })
	}
	return e.b
}

// share appends a share of a frame. Its times are relative to the frame's,
// since they are mostly the same.
func (e *encoder) share(f *Frame, s *Share) {
	e.text(1, s.Host)
	e.uint(2, s.Seq)
	e.uint(3, s.Dropped)
	e.int(4, s.Begin-f.Begin)
	e.int(5, s.End-f.End)
	e.bool(6, s.More)
	e.bool(7, s.Final)
	e.text(8, string(s.Frame))
}

func (e *encoder) result(r *Result) {
	e.uint(1, uint64(r.Kind))
	e.text(2, r.Name)
	e.text(3, r.Title)
	e.uint(4, r.Samples)
	e.uint(5, r.TotalSamples)
	if !r.Loss.Zero() {
		e.packed(6, countsOf(&r.Loss))
	}
	if r.Form != nil {
		e.message(7, func() { e.form(r.Form) })
	}
	for i := range r.Rows {
		e.message(8, func() { e.row(&r.Rows[i]) })
	}
	for _, line := range r.Lines {
		e.always(9, line)
	}
	e.uint(10, r.Omitted)
	if r.Stacks != nil {
		e.message(11, func() { e.stacks(r.Stacks) })
	}
	e.text(12, r.Host)
	e.costs(13, &r.Costs)
}

func (e *encoder) form(f *Form) {
	for i := range f.Columns {
		e.message(1, func() { e.column(&f.Columns[i]) })
	}
	e.uint(2, uint64(f.Keys))
	for i := range f.Aggs {
		e.message(3, func() { e.agg(&f.Aggs[i]) })
	}
	e.uint(4, uint64(f.Args))
}

// The flags of a column.
const (
	flagHex = 1 << iota
	flagLeft
)

func (e *encoder) column(c *result.Column) {
	e.text(1, c.Name)
	e.text(2, c.Head)
	flags := uint64(0)
	if c.Hex {
		flags |= flagHex
	}
	if c.Left {
		flags |= flagLeft
	}
	e.uint(3, flags)
	e.uint(4, uint64(c.Width))
	e.uint(5, uint64(c.Prec+1))
	e.uint(6, uint64(c.Merging))
	e.unit(7, c.Unit)
}

func (e *encoder) unit(n protowire.Number, u unit.Unit) {
	if u == (unit.Unit{}) {
		return
	}
	e.message(n, func() {
		e.text(1, u.Symbol)
		e.text(2, u.Base)
		e.float(3, u.Scale)
		e.uint(4, uint64(u.Prec))
	})
}

func (e *encoder) agg(a *agg.Agg) {
	e.text(1, a.Op.Name)
	e.uint(2, uint64(a.Arg))
	e.float(3, a.Q)
	e.uint(4, uint64(a.N))
	e.int(5, a.Lo)
	e.int(6, a.Hi)
	e.int(7, a.Step)
	if a.Linear != nil {
		e.message(9, func() {
			for _, s := range a.Linear {
				e.message(1, func() {
					e.uint(1, uint64(s.Op))
					e.float(2, s.Const)
				})
			}
		})
	}
	e.message(8, func() {
		e.uint(1, uint64(a.Type.Kind))
		e.bool(2, a.Type.Unsigned)
		e.uint(3, uint64(a.Type.Unit))
	})
}

func (e *encoder) row(r *Row) {
	for _, v := range r.Key {
		e.message(1, func() { e.value(v) })
	}
	if len(r.Measures) > 0 {
		list := make([]uint64, 0, measureWords*len(r.Measures))
		for i := range r.Measures {
			m := &r.Measures[i]
			kind, high, low := m.Sum().Words()
			list = append(list, m.N)
			list = appendNumber(list, event.NumberOf(kind, high))
			list = append(list, wordOf(event.NumberOf(kind, low)))
			list = appendNumber(appendNumber(list, m.Min()), m.Max())
		}
		e.packed(2, list)
	}
	for i := range r.Contents {
		e.message(3, func() { e.content(&r.Contents[i]) })
	}
	e.bool(4, r.Other)
	for _, name := range r.Names {
		e.always(5, name)
	}
	e.doubts(6, r.Doubts)
	for i := range r.Called {
		e.message(7, func() {
			c := &r.Called[i]
			e.uint(1, uint64(c.Agg))
			e.message(2, func() { e.value(c.Value) })
			e.text(3, c.Name)
		})
	}
}

func (e *encoder) content(c *agg.Content) {
	var list []uint64
	for _, v := range c.Values {
		list = appendNumber(list, v)
	}
	e.packed(1, list)
	list = list[:0]
	for _, b := range c.Buckets {
		number := protowire.EncodeZigZag(int64(b.Bucket)) * 2
		if b.Negative {
			number++
		}
		list = append(list, number, b.N)
	}
	e.packed(2, list)
	e.uint(3, c.N)
	e.message(4, func() { e.value(c.Least.Value()) })
	e.message(5, func() { e.value(c.Greatest.Value()) })
	e.packed(6, c.Counters)
	for _, x := range c.Counts {
		e.message(7, func() { e.value(x.Value) })
		e.b = protowire.AppendVarint(protowire.AppendTag(e.b, 8, protowire.VarintType), x.N)
	}
	for _, s := range c.Packed {
		e.always(9, s)
	}
	e.message(10, func() { e.value(c.First.Value()) })
	e.float(11, c.Mean)
	e.float(12, c.Squares)
	e.bool(13, c.Floats)
	e.uint(14, uint64(c.Scale))
}

func (e *encoder) value(v event.Value) {
	e.uint(1, uint64(v.Kind))
	switch v.Kind {
	case event.None:
	case event.StrValue:
		e.text(3, v.String())
	case event.ListValue:
		for _, m := range v.List() {
			e.message(4, func() { e.value(m) })
		}
	case event.FloatValue:
		e.uint(2, math.Float64bits(v.Float()))
	case event.UintValue, event.BoolValue:
		e.uint(2, v.Uint())
	default:
		e.int(2, v.Int())
	}
}

func (e *encoder) stacks(s *result.Stacks) {
	for i := range s.Keys {
		e.message(1, func() { e.column(&s.Keys[i]) })
	}
	e.text(2, s.Value)
	e.unit(3, s.Unit)
	numbers := map[result.Frame]uint64{}
	for i := range s.Samples {
		for _, f := range s.Samples[i].Frames {
			own := portableFrame(f)
			if _, known := numbers[own]; !known {
				numbers[own] = uint64(len(numbers))
				e.message(4, func() { e.function(&own) })
			}
		}
	}
	var list []uint64
	for i := range s.Samples {
		x := &s.Samples[i]
		e.message(5, func() {
			for _, v := range x.Key {
				e.message(1, func() { e.value(v) })
			}
			list = list[:0]
			for _, f := range x.Frames {
				list = append(list, numbers[portableFrame(f)])
			}
			e.packed(2, list)
			e.uint(3, x.Count)
			e.int(4, x.Value)
			e.bool(5, x.Cut)
		})
	}
	e.uint(6, s.Cut)
	e.uint(7, s.Unwound)
	e.bool(8, s.Periods)
}

// portableFrame returns the parts of a frame that are the same on other machines: the name of the
// function, the file and its build-id; for functions without a name, the address in the file.
func portableFrame(f *result.Frame) result.Frame {
	own := result.Frame{Symbol: f.Symbol, DSO: f.DSO, BuildID: f.BuildID, File: f.File, Line: f.Line,
		Inline: f.Inline, Kernel: f.Kernel}
	if f.Symbol == "" {
		own.FileAddr = f.FileAddr
	}
	return own
}

// The flags of a function.
const (
	flagInline = 1 << iota
	flagKernel
)

func (e *encoder) function(f *result.Frame) {
	e.text(1, f.Symbol)
	e.text(2, f.DSO)
	e.text(3, f.BuildID)
	e.text(4, f.File)
	e.uint(5, uint64(f.Line))
	flags := uint64(0)
	if f.Inline {
		flags |= flagInline
	}
	if f.Kernel {
		flags |= flagKernel
	}
	e.uint(6, flags)
	e.uint(7, f.FileAddr)
}

// measureWords is the number of words of an encoded measure.
const measureWords = 8

// appendNumber appends the kind and the bits of a number.
func appendNumber(list []uint64, n event.Number) []uint64 {
	return append(list, uint64(n.Kind()), wordOf(n))
}

// wordOf returns the bits of a number. Signed numbers are zigzag-encoded, so
// that small negative ones are short.
func wordOf(n event.Number) uint64 {
	switch n.Kind() {
	case event.UintValue, event.FloatValue, event.BoolValue:
		return uint64(n.Bits())
	}
	return protowire.EncodeZigZag(n.Bits())
}
