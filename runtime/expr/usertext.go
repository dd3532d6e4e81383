package expr

import (
	"errors"

	"ppscript/runtime/event"
)

// This file is user_string(address): the text at an address of the process that
// an event happened in. Records carry addresses only, and when ppscript sees
// them, the process has gone on: a program in the kernel reads the text at the
// moment of the event. It either works on the text itself, or sends it along.
// Here texts are found that were sent.
//
// A text is found by its address: that is all that an expression knows of it,
// wherever and whenever it is evaluated.

// UserText is the name of the function in both languages.
const UserText = "user_string"

// NewUserText is the text at an address, which is a number that is computed
// from fields of one event. Instead is its value where no program reads it;
// nil makes that an error.
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

// RecordOffset is where in the record of which part a constant address points.
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

// rebindText has the text read in the process of the part that its address,
// rebound already, is of.
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
