package probe

import (
	"slices"
	"strconv"

	"ppscript/runtime/event"
)

// This file builds schemas of probes: the record that the kernel writes, and
// fields that are computed from the sample's registers.

// A builder collects the fields of one schema.
type builder struct {
	s     *event.Schema
	nums  []func(e *event.Event) (uint64, bool)
	texts []func(e *event.Event) (string, bool)
	// again are the fields arg1 and so on whose registers also have fields with real
	// names.
	again map[string]bool
}

// common are the fields at the begin of every record: struct trace_entry.
var common = []event.Field{
	{Name: "common_type", Type: "unsigned short", Offset: 0, Size: 2},
	{Name: "common_flags", Type: "unsigned char", Offset: 2, Size: 1},
	{Name: "common_preempt_count", Type: "unsigned char", Offset: 3, Size: 1},
	{Name: "common_pid", Type: "int", Offset: 4, Size: 4, Signed: true},
}

// newBuilder starts the schema of a probe's records. It must match struct
// kprobe_trace_entry_head and kretprobe_trace_entry_head in
// kernel/trace/trace.h; the records of uprobes are the same.
func newBuilder(system, name string, typ uint32, config uint64, returns bool) *builder {
	b := &builder{s: &event.Schema{System: system, Name: name, Type: typ, ID: config, Size: 16}}
	b.s.Fields = append(b.s.Fields, common...)
	b.s.Fields = append(b.s.Fields, event.Field{
		Name: "ip", Type: "unsigned long", Offset: 8, Size: 8, Unit: event.AddressU,
	})
	if returns {
		b.s.Fields = append(b.s.Fields, event.Field{
			Name: "ret_ip", Type: "unsigned long", Offset: 16, Size: 8, Unit: event.AddressU,
		})
		b.s.Size = 24
	}
	return b
}

// add appends a field that is a sample member.
func (b *builder) add(f event.Field) {
	f.Place = event.InMember
	b.s.Fields = append(b.s.Fields, f)
}

// register appends a whole register as a signed number.
func (b *builder) register(name string, r uint8) {
	b.add(event.Field{
		Name:   name,
		Type:   "long",
		Size:   8,
		Signed: true,
		Member: event.MemberReg + event.Member(r),
	})
}

// namedRegister adds a field with an argument's real name for its register.
func (b *builder) namedRegister(c *convention, d decl, reg uint8) {
	b.declared(d, reg)
	b.named(c, reg)
}

// named marks a register that has a field with a real name, so that lines leave
// out arg1 and so on.
func (b *builder) named(c *convention, reg uint8) {
	if i := slices.Index(c.args, reg); i >= 0 {
		if b.again == nil {
			b.again = map[string]bool{}
		}
		b.again[argName(i)] = true
	}
}

// partOfRegister adds a field for a member of a structure that begins at a bit of a
// register.
func (b *builder) partOfRegister(c *convention, d decl, reg, bit uint8) {
	if bit == 0 {
		b.namedRegister(c, d, reg)
		return
	}
	b.named(c, reg)
	member := event.MemberReg + event.Member(reg)
	at := &event.Operand{Regs: []event.ScaledReg{{Reg: reg}}, Shift: bit}
	b.computed(d, at, func(e *event.Event) (uint64, bool) {
		v, ok := e.Stream.Members.Member(e, member)
		return v >> bit, ok
	}, []event.Member{member})
}

// number appends a field with a computed number; f has its name, type, size and
// sign.
func (b *builder) number(f event.Field, fn func(*event.Event) (uint64, bool)) {
	n := len(b.nums)
	b.nums, b.texts = append(b.nums, fn), append(b.texts, nil)
	f.Member = event.MemberArg + event.Member(n)
	b.add(f)
}

// text appends a field with a computed text. o, if not nil, describes the computation
// for programs of the kernel.
func (b *builder) text(name string, o *event.Operand, fn func(*event.Event) (string, bool),
	uses ...event.Member) {
	n := len(b.nums)
	b.nums, b.texts = append(b.nums, nil), append(b.texts, fn)
	b.add(event.Field{
		Name:     name,
		Type:     "char *",
		Kind:     event.Str,
		Size:     8,
		Member:   event.MemberArg + event.Member(n),
		Computed: &event.Computed{Uses: uses, Operand: o},
	})
}

// schema returns the finished schema.
func (b *builder) schema() *event.Schema {
	// func is the last field, so that a declared argument with this name hides
	// it.
	name := b.s.Name
	b.text("func", &event.Operand{Text: name}, func(*event.Event) (string, bool) { return name, true })
	nums, texts := b.nums, b.texts
	b.s.Arg = func(e *event.Event, n int) (uint64, bool) {
		if n >= len(nums) || nums[n] == nil {
			return 0, false
		}
		return nums[n](e)
	}
	b.s.ArgText = func(e *event.Event, n int) (string, bool) {
		if n >= len(texts) || texts[n] == nil {
			return "", false
		}
		return texts[n](e)
	}
	if b.s.Text == nil {
		b.s.Text = lineOf(b.s, b.again)
	}
	return b.s
}

// lineOf returns the function that prints a probe's line, "(ffffffff81234567) arg1=1": the
// address of the probe in hex, then the fields that are sample members. It leaves out fields that
// the sample lacks, the fields in again, and func, the last field.
func lineOf(s *event.Schema, again map[string]bool) func(dst []byte, e *event.Event) []byte {
	ip, _ := s.Field("ip")
	return func(dst []byte, e *event.Event) []byte {
		v, _ := ip.Int(e)
		dst = append(strconv.AppendUint(append(dst, '('), uint64(v), 16), ')')
		for i := range s.Fields {
			f := &s.Fields[i]
			if f.Place != event.InMember || i == len(s.Fields)-1 || again[f.Name] {
				continue
			}
			if f.Kind == event.Str {
				dst = append(append(append(dst, ' '), f.Name...), '=')
				dst = strconv.AppendQuote(dst, string(f.Text(e)))
				continue
			}
			n, ok := f.Int(e)
			if !ok {
				continue
			}
			dst = append(append(append(dst, ' '), f.Name...), '=')
			if f.Shown != nil {
				if name, ok := f.Shown(event.IntOf(n)); ok {
					dst = append(dst, name...)
					continue
				}
			}
			dst = appendNumber(dst, n)
		}
		return dst
	}
}

// appendNumber prints small numbers in decimal and likely addresses in hex.
func appendNumber(dst []byte, n int64) []byte {
	if n >= -1<<31 && n < 1<<32 {
		return strconv.AppendInt(dst, n, 10)
	}
	return strconv.AppendUint(append(dst, "0x"...), uint64(n), 16)
}
