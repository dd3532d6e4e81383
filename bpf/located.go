package bpf

import (
	"errors"
	"slices"

	"ppscript/bpf/hook"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file copies texts whose place only the record tells (__data_loc, __rel_loc) for who
// shows events. Unlike a key, such a text may be cut: package sent then marks its end. How
// much room it gets depends on what else has to be on the stack: the program is generated
// with the most, and with less if it cannot be.

// locatedRooms are the rooms to try, NUL included.
var locatedRooms = []int{sent.LongRoom, 64, 32}

func locatedSize(room int) int { return sent.LocatorSize + room }

func located(f *expr.Field) bool { return hook.IsLocated(f) || hook.IsUserText(f.F) }

// locates reports that lines show such a text of events that leave the kernel.
func (p *Part) locates() bool {
	for _, e := range p.Edges {
		for _, r := range []*Record{e.Send, e.Keep} {
			if r != nil && slices.ContainsFunc(r.Fields, located) {
				return true
			}
		}
	}
	return false
}

// roomy calls generate with the rooms, until it refuses none.
func (p *Part) roomy(generate func(textRoom int) (*Image, error)) (im *Image, err error) {
	for _, room := range locatedRooms {
		var no *Refusal
		if im, err = generate(room); !errors.As(err, &no) || !p.locates() {
			break
		}
	}
	return im, err
}
