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

// This file shows one value of a field as the kernel prints it within an event:
// NET_RX for 3, where the print fmt has "vec=%u [action=%s]". The part of the
// print fmt that depends on this field only is evaluated on a record that has
// nothing but the value. A text that needs other fields too, as the exit reason
// of kvm_exit needs the vendor, is not told by a value: such a field stays a number.

// attachShown settles which fields have values that are not read as they are.
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

// minorBits is how many bits of a dev_t are the minor number inside the kernel:
// MINORBITS of include/linux/kdev_t.h.
const minorBits = 20

// shownDevice is a device as lsblk and /sys/dev name it, 254:1. Print fmts have
// a comma in some events and a colon in others; results may have both.
func shownDevice(v event.Value) (string, bool) {
	if !v.Numeric() {
		return "", false
	}
	dev := uint32(v.Uint())
	text := strconv.AppendUint(nil, uint64(dev>>minorBits), 10)
	return string(strconv.AppendUint(append(text, ':'), uint64(dev&(1<<minorBits-1)), 10)), true
}

// shownReturn is what a system call returned: an error's number with its name.
func shownReturn(v event.Value) (string, bool) {
	n := v.Int()
	if !v.Numeric() || n >= 0 || n < -4095 {
		return "", false
	}
	name := kernel.ErrnoName(-n)
	return strconv.FormatInt(n, 10) + " " + name, name != ""
}

// fieldText is the part of the print fmt for a value of field i.
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

// store puts a value where the field lies; false if the field cannot have it.
func store(f *event.Field, place []byte, v event.Value) bool {
	switch {
	case v.Kind == event.ListValue: // an array as a function of a script has it
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

// storeList puts the elements of an array where it lies.
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

// runOf are the conversions that show field i: one that is more than its number,
// with those beside it that show the field too, as the %s%s of prev_state.
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

// beside reports that what stands between two conversions keeps them one text.
func beside(lit string) bool { return lit == "" || len(lit) == 1 && strings.Contains(",:|+-./", lit) }

// named reports that the conversion shows more than the number.
func (o *op) named() bool {
	switch o.kind {
	case opText, opTextAddr, opData, opDataAddr:
		return true
	case opAddress:
		return o.spec.ext != "" && strings.Contains("SsFfBe", o.spec.ext[:1])
	}
	return false
}

// onlyField is the field that the text of a conversion depends on, "" if it
// depends on none, on several, or on more than the event.
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
