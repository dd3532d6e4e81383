package tracefs

import (
	"encoding/binary"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/system/kernel"
)

// This file prints one value of a field like the kernel does within an event: NET_RX
// for 3, where the print fmt has "vec=%u [action=%s]". The part of the print fmt
// that depends on this field only is evaluated on a record that has only this value.
// If the text needs other fields too, the field is printed as a number; for example,
// the exit reason of kvm_exit depends on the vendor.

// attachShown sets the function that prints values, for fields whose values are
// not printed as plain numbers.
func attachShown(s *event.Schema, get func() *printer) {
	calls := s.System == "raw_syscalls" || s.System == "syscalls"
	for i := range s.Fields {
		f := &s.Fields[i]
		switch {
		case f.Place != event.InRaw || strings.HasPrefix(f.Name, "common_"):
		case f.Kind == event.Int && f.Type == "dev_t":
			f.Shown = shownDevice
		case f.Kind == event.Int && calls:
			if f.Name == "ret" && f.Size == 8 {
				f.Shown, f.Errno = shownReturn, true
			}
		case f.Kind == event.Int && s.PrintFmt != "", f.Kind == event.Array:
			f.Shown = func(v event.Value) (string, bool) { return get().fieldText(i, v) }
		}
	}
}

// minorBits is the number of bits of the minor number in the kernel's dev_t:
// MINORBITS of include/linux/kdev_t.h.
const minorBits = 20

// shownDevice prints a device in the form of lsblk and /sys/dev, 254:1. The
// print fmts of some events have a comma, others a colon; the same form here
// makes results comparable.
func shownDevice(v event.Value) (string, bool) {
	if !v.Numeric() {
		return "", false
	}
	dev := uint32(v.Uint())
	text := strconv.AppendUint(nil, uint64(dev>>minorBits), 10)
	return string(strconv.AppendUint(append(text, ':'), uint64(dev&(1<<minorBits-1)), 10)), true
}

// shownReturn prints the return value of a system call if it is an error: the
// number with its name.
func shownReturn(v event.Value) (string, bool) {
	n := v.Int()
	if !v.Numeric() || n >= 0 || n < -4095 {
		return "", false
	}
	name := kernel.ErrnoName(-n)
	return strconv.FormatInt(n, 10) + " " + name, name != ""
}

// fieldText evaluates the part of the print fmt for field i with a value.
func (p *printer) fieldText(i int, v event.Value) (string, bool) {
	f := &p.schema.Fields[i]
	if p.reason != nil {
		return "", false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runOf(i, f.Name)
	if len(run) == 0 {
		return "", false
	}
	e := event.Event{Raw: make([]byte, p.schema.Size)}
	if !store(f, e.Raw[f.Offset:f.Offset+f.Size], v) {
		return "", false
	}

	p.frame.Reset(&e)
	var text []byte
	for j := range run {
		o := run[j]
		if j == 0 {
			o.lit = ""
		}
		text = p.appendOp(text, &o)
	}
	p.frame.Event = nil
	return string(text), len(text) > 0 && string(text) != unknownText
}

// store writes a value into the bytes of a field; false if the field cannot
// have this value.
func store(f *event.Field, place []byte, v event.Value) bool {
	switch {
	case v.Kind == event.ListValue: // an array, from a function of a script
		return storeList(f, place, v.List())
	case f.Kind != event.Int:
		return v.Kind == event.StrValue && len(v.String()) == len(place) && copy(place, v.String()) > 0
	case !v.Numeric():
		return false
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v.Uint())
	copy(place, word[:])
	back, ok := event.LoadInt(place, f.Signed)
	return ok && back == v.Int()
}

// storeList writes the elements of an array into the bytes of its field.
func storeList(f *event.Field, place []byte, list []event.Value) bool {
	if f.Elem != 1 && f.Elem != 2 && f.Elem != 4 && f.Elem != 8 || len(list)*f.Elem != len(place) {
		return false
	}
	for i, v := range list {
		if !v.Numeric() {
			return false
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v.Uint())
		copy(place[i*f.Elem:(i+1)*f.Elem], word[:])
	}
	return true
}

// runOf returns the conversions that print field i: one that prints more than
// the number, and adjacent ones that print the same field, like the %s%s of
// prev_state.
func (p *printer) runOf(i int, field string) []op {
	if run, ok := p.runs[i]; ok {
		return run
	}
	if p.runs == nil {
		p.runs = map[int][]op{}
	}
	of := func(j int) bool { return j >= 0 && j < len(p.ops) && p.ops[j].field == field }
	for j := range p.ops {
		if !of(j) || !p.ops[j].named() {
			continue
		}
		from, to := j, j+1
		for of(from-1) && beside(p.ops[from].lit) {
			from--
		}
		for of(to) && beside(p.ops[to].lit) {
			to++
		}
		p.runs[i] = p.ops[from:to]
		return p.runs[i]
	}
	p.runs[i] = nil
	return nil
}

// beside reports that two conversions with lit between them print one text.
func beside(lit string) bool { return lit == "" || len(lit) == 1 && strings.Contains(",:|+-./", lit) }

// named reports that the conversion prints more than the number.
func (o *op) named() bool {
	switch o.kind {
	case opText, opTextAddr, opData, opDataAddr:
		return true
	case opAddress:
		return o.spec.ext != "" && strings.Contains("SsFfBe", o.spec.ext[:1])
	}
	return false
}

// onlyField returns the only field on which the text of a conversion depends;
// "" if it depends on none or several, or on values outside of the event.
func onlyField(o *op, tree c.Node) string {
	if o.arg == nil || o.width != nil || o.prec != nil || tree == nil {
		return ""
	}
	name, _ := fieldIn(tree)
	uses := expr.UsesOf(o.arg.Node)
	for _, f := range uses.Fields {
		if f.F.Name != name {
			return ""
		}
	}
	return name
}
