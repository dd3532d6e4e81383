package naming

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/text/diag"
)

// This file names addresses: in whole stacks for results and logs, and single
// ones in the text of an event. Each distinct address is named once.

// Place appends the symbol of an address of an event.
func (n *Namer) Place(dst []byte, e *event.Event, ip uint64) []byte {
	if ip >= 1<<63 {
		n.adopt()
	}
	if ip >= 1<<63 && n.foreign {
		return fmt.Appendf(dst, "%016x", ip)
	}
	f := n.symbols.Function(e.PID, e.TID, ip, e.Time)
	switch {
	case f.Symbol != symbol.Unknown:
		return strconv.AppendUint(append(append(dst, f.Symbol...), "+0x"...), f.Offset, 16)
	case f.DSO != "":
		return fmt.Appendf(dst, "%016x (%s)", ip, f.DSO)
	}
	return fmt.Appendf(dst, "%016x", ip)
}

// Frames appends the functions of a stack to dst, innermost first.
func (n *Namer) Frames(dst []*result.Frame, id stack.ID) (frames []*result.Frame, s stack.Stack) {
	if id == stack.Full {
		return append(dst, NoRoom), s
	}
	s, ok := n.table.At(id)
	if !ok {
		return dst, s
	}
	stack.Each(s.Chain, func(addr uint64, in stack.Context, exact bool) {
		dst = append(dst, n.at(&s, addr, in, exact)...)
	})
	return dst, s
}

// FramesAbove appends to dst the functions of a stack that is shown above another one: outermost
// first, followed by result.Separator, so that the innermost functions of both stacks meet there.
// An unknown stack appends nothing.
func (n *Namer) FramesAbove(dst []*result.Frame, id stack.ID) []*result.Frame {
	begin := len(dst)
	if dst, _ = n.Frames(dst, id); len(dst) == begin {
		return dst
	}
	slices.Reverse(dst[begin:])

	// An inlined frame belongs to the frame after it, which the reversed order no
	// longer shows.
	for i, f := range dst[begin:] {
		if f.Inline {
			own := *f
			own.Inline = false
			dst[begin+i] = &own
		}
	}
	return append(dst, result.Separator)
}

// Label appends a frame that shows a text in place of a function; an empty text is left
// out.
func Label(dst []*result.Frame, text string) []*result.Frame {
	if text == "" {
		return dst
	}
	return append(dst, &result.Frame{Symbol: agg.Named(text)})
}

// Prepare names the addresses of stacks that are about to be shown, so that each file
// is read only once for all of them.
func (n *Namer) Prepare(ids iter.Seq[stack.ID]) {
	n.fetchFor(ids)
	n.prepare(ids)
}

// prepare reads the source lines, one file after another.
func (n *Namer) prepare(ids iter.Seq[stack.ID]) {
	if !n.opt.Lines {
		return
	}
	var list []symbol.Address
	known := map[frameKey]bool{}
	for id := range ids {
		s, ok := n.table.At(id)
		if !ok {
			continue
		}
		stack.Each(s.Chain, func(addr uint64, in stack.Context, exact bool) {
			key := frameKey{addr: addr, pid: s.PID, image: s.Image, exact: exact}
			if in != stack.User || known[key] {
				return
			}
			known[key] = true
			if _, ok := n.frames[key]; !ok {
				list = append(list, symbol.Address{PID: s.PID, Addr: addr, When: s.When, Call: !exact})
			}
		})
	}
	n.symbols.Prepare(list)
}

// NoRoom is the function that stands for stacks that found no room, in all kinds of
// results.
var NoRoom = &result.Frame{Symbol: agg.OtherKey}

// frameKey identifies a frame of results, so that a function that two processes
// have at different addresses is one frame.
type frameKey struct {
	addr  uint64
	pid   int32
	image uint32
	exact bool
	since int64 // for code that is not always there
}

// maxFrames bounds the remembered frames, which include addresses of ended processes.
// Dropped frames are made again from the Symbolizer's tables.
const maxFrames = 1 << 14

func (n *Namer) clearFrames() {
	clear(n.frames)
	n.nameless = n.nameless[:0]
}

// at returns the frames of one address.
func (n *Namer) at(s *stack.Stack, addr uint64, in stack.Context, exact bool) []*result.Frame {
	if in == stack.Named {
		return n.places.at(addr).frames
	}
	if in == stack.Interpreted {
		return n.opt.Interpreters.Frame(addr)
	}
	key := frameKey{addr: addr, pid: s.PID, image: s.Image, exact: exact}
	if in == stack.Kernel {
		key.pid, key.image = -1, 0
	}
	if f, ok := n.frames[key]; ok {
		return f
	}
	if in == stack.Kernel {
		n.adopt()
	}
	if len(n.frames) >= n.opt.Memory.Share(8, 256, maxFrames) {
		n.clearFrames()
	}
	var list []*result.Frame
	switch {
	case in == stack.Kernel && n.foreign:
		n.strange()
		list = []*result.Frame{{Addr: addr, DSO: symbol.KernelDSO, Kernel: true}}
	case in == stack.User && addr >= 1<<63:
		// The frame pointer was a number that is not a user address.
		list = []*result.Frame{{Addr: addr}}
	case in == stack.Kernel, in == stack.User:
		resolve := n.symbols.ResolveReturn
		if exact {
			resolve = n.symbols.Resolve
		}
		found := resolve(s.PID, s.PID, addr, s.When)
		if key.since = found[0].Since; key.since != 0 {
			if f, ok := n.frames[key]; ok {
				return f
			}
		}
		for _, f := range found {
			list = append(list, frameOf(addr, f))
		}
		if in == stack.Kernel && list[0].Symbol == "" {
			n.hidden()
		}
	default:
		list = []*result.Frame{{Addr: addr, DSO: "[" + in.String() + "]"}}
	}
	n.frames[key] = list
	if key.pid >= 0 && list[0].Symbol == "" {
		n.nameless = append(n.nameless, key)
	}
	return list
}

func (n *Namer) say(text string) {
	if n.opt.Say != nil {
		n.opt.Say(text)
	}
}

// hidden tells the user why kernel functions have no names.
func (n *Namer) hidden() {
	if err := n.kernel.Err(); err != nil {
		text := "kernel functions have no names: " + err.Error()
		if hint := diag.HintOf(err); hint != "" {
			text += " (" + hint + ")"
		}
		n.say(text)
	}
}

func frameOf(addr uint64, f symbol.Frame) *result.Frame {
	out := &result.Frame{Addr: addr, Symbol: agg.Named(f.Symbol), Offset: f.Offset, DSO: f.DSO,
		BuildID: f.BuildID, File: f.File, Line: f.Line, Inline: f.Inline, Kernel: f.Kernel,
		FileAddr: f.FileAddr, Segment: result.Segment(f.Segment)}
	if f.Symbol == symbol.Unknown {
		out.Symbol = ""
	}
	return out
}
