package expr

import (
	"errors"

	"ppscript/runtime/event"
)

// This file implements user_string(address): the text at an address of the
// process in which an event happened. Records have only the address, and when
// ppscript reads them, the memory may have changed. So a program in the kernel
// reads the text when the event happens. It either uses the text itself, or
// sends it; this file finds sent texts.
//
// A text is found by its address, which is the only fact about it that every
// expression has.

// UserText is the name of the function in both languages.
const UserText = "user_string"

// NewUserText is the text at an address, which is a number that is computed
// from fields of one event. instead is the value if no program reads the text;
// if nil, that is an error.
func NewUserText(addr Node, instead *Const) (Node, error) {
	part, err := addressed(addr)
	if err != nil {
		return nil, err
	}
	n := Native{
		Name:   UserText,
		Traits: ReadsProcess | ReadsNow,
		T:      TStr,
		Args:   []Node{addr},
		Kernel: ProcessText{instead},
		Str1:   userText(part, instead),
	}
	return NewNative(n)
}

var (
	errAddressed = errors.New("want an address that is a field of the event, or is computed from its fields")
	errTwoEvents = errors.New("got an address computed from two events")
)

// addressed finds the event in whose process an address is.
func addressed(addr Node) (part Part, err error) {
	seen := false
	from := func(p Part) {
		if seen && p != part {
			err = errTwoEvents
		}
		part, seen = p, true
	}
	Walk(addr, func(n Node) bool {
		switch n := n.(type) {
		case *Field:
			from(n.Part)
		case *Const:
			if _, p, ok := RecordOffset(n); ok {
				from(p)
			}
		case *Local, *LoadState, *LoadElem, *Native:
			err = errAddressed
		}
		return err == nil
	})
	if err == nil && !seen {
		err = errAddressed
	}
	return part, err
}

// RecordOffset splits a constant symbolic address into the offset in the record
// and the part of the event.
func RecordOffset(addr Node) (off int, p Part, ok bool) {
	k, ok := addr.(*Const)
	if !ok || k.T != TUint {
		return 0, 0, false
	}
	rel := uint64(k.Int) - recordBase
	if rel>>partShift > 255 {
		return 0, 0, false
	}
	return int(rel & (1<<partShift - 1)), Part(rel >> partShift), true
}

func userText(part Part, instead *Const) func(f *Frame, addr int64) []byte {
	return func(f *Frame, addr int64) []byte {
		if addr == 0 {
			return nil
		}
		e := f.part(part)
		if e == nil {
			return nil
		}
		if e.Stream != nil {
			if m, ok := e.Stream.Members.(event.Texts); ok {
				if text, ok := m.Text(e, uint64(addr)); ok {
					return text
				}
			}
		}
		if instead != nil {
			return Bytes(instead.Str)
		}
		f.Fail(ErrMissing)
		return nil
	}
}

// rebindText makes the text be read in the process of the part whose fields its
// address, which is already rebound, uses.
func (n *Native) rebindText() {
	if part, err := addressed(n.Args[0]); err == nil {
		n.Str1 = userText(part, n.Kernel.(ProcessText).Instead)
	}
}

// UserTextPart is the part of the event in whose process n reads.
func UserTextPart(n *Native) Part {
	part, _ := addressed(n.Args[0])
	return part
}
