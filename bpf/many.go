package bpf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/bpf/textcode"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file has one program serve many functions, those that a pattern fits: all of
// their events go the same ways, and differ in the name of the function alone. One link
// attaches it to all functions of the kernel (kprobe_multi, 5.18) or of a file
// (uprobe_multi, 6.6), at once, and has a number for each, by which the program finds
// the name.

// mostProbes bounds the probes that have a program each: each has maps as well.
const mostProbes = 64

// serve finds the probes that one program can serve. The first one of them has it.
func (s *graph) serve(host *Host) {
	first := map[string]*source{}
	probes := 0
	for i, e := range s.sources {
		if e.idle() && !s.counted {
			e.served = true // by nobody
		}
		if e.Probe == nil || e.served {
			continue
		}
		way, ok := e.ways()
		lead := first[way]
		multi := host.KprobeMulti
		if e.Probe.User {
			multi = host.UprobeMulti
		}
		if !ok || !multi || lead == nil {
			first[way] = e
			e.serves = []int{i}
			probes++
			continue
		}
		lead.serves = append(lead.serves, i)
		e.served = true
	}
	if probes > mostProbes {
		refuse("%d probes, each of which needs a program", probes)
	}
	for _, e := range s.sources {
		if len(e.serves) > 1 {
			s.names(e)
		}
	}
}

// idle reports that nothing is to be done with an event: nobody looks at what happens
// during pairs.
func (e *source) idle() bool {
	return !slices.ContainsFunc(e.feeds, func(f feed) bool {
		return !f.untraced() || f.next != nil || f.keep != nil || len(f.preds) > 0
	})
}

// ways says where the events of a probe go, as a text; false if nobody else's could
// go the same ways.
func (e *source) ways() (string, bool) {
	if !e.Probe.User && strings.ContainsAny(e.Schema.Name, "+ ") {
		return "", false // the link takes functions of the kernel by their names
	}
	if e.Probe.User && e.Schema.ID>>32 != 0 {
		return "", false // a semaphore of USDT, which perf's events raise
	}
	var b strings.Builder
	ok := true
	say := func(nodes ...expr.Node) {
		for _, n := range nodes {
			switch {
			case n == nil:
				b.WriteString("-;")
				continue
			case isName(n):
				fmt.Fprintf(&b, "name %s;", n.(*expr.Field).F.Name)
				continue
			}
			fmt.Fprintf(&b, "%s;", n)
			for _, f := range expr.UsesOf(n).Fields {
				// With one link the kernel's registers are not those of a breakpoint.
				place := f.F.Place == event.InRaw && f.F.Name != "common_pid"
				ok = ok && !isName(f) && (e.Probe.User || !place)
				fmt.Fprintf(&b, "%d %d %d %t;", f.F.Place, f.F.Member, f.F.Size, f.F.Signed)
				if o := f.F.Operand(); o != nil {
					fmt.Fprintf(&b, "%+v;", *o) // a place of USDT may have it elsewhere
				}
			}
		}
	}
	fmt.Fprint(&b, e.Schema.Type, e.Schema.ID, *e.Probe, e.CPUs, e.Stack != nil && e.Stack.Kernel,
		e.Stack != nil && e.Stack.User)
	say(e.Filter)
	for i := range e.feeds {
		f := &e.feeds[i]
		switch {
		case f.table != nil:
			fmt.Fprintf(&b, "table %d;", f.table.Index)
		case f.fold != nil:
			fmt.Fprintf(&b, "fold %d;", f.fold.index)
			say(f.step)
		default:
			return "", false
		}
		say(f.preds...)
		b.WriteString("keys;")
		say(f.columns()...)
		for _, a := range f.args {
			fmt.Fprint(&b, a.off)
			say(a.fn, a.where)
		}
	}
	return b.String(), ok
}

// columns are those of the key of a table or a fold.
func (f *feed) columns() []expr.Node {
	if f.fold != nil {
		return keysOf(f.key)
	}
	return f.keys
}

// isName reports that a node is a text that is the same for all events of a probe.
func isName(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.Part == expr.Self && f.View == expr.ViewValue && f.F.Place == event.InMember &&
		f.F.Kind == event.Str && f.F.Operand() != nil && f.F.Operand().Constant()
}

// names has the keys of a program that serves many find their text by the place that
// was hit.
func (s *graph) names(e *source) {
	for i := range e.feeds {
		own := &e.feeds[i]
		keys := slices.Clone(own.columns())
		for k, n := range keys {
			if !isName(n) {
				continue
			}
			o := &event.Operand{}
			for _, other := range e.serves {
				name := s.sources[other].feeds[i].columns()[k].(*expr.Field)
				o.Texts = append(o.Texts, name.F.Operand().Text)
			}
			e.texts = o.Texts
			f := *n.(*expr.Field).F
			f.Computed = &event.Computed{Operand: o}
			keys[k] = &expr.Field{F: &f}
		}
		tuple, several := own.key.(*expr.TupleOf)
		switch {
		case own.fold == nil:
			own.keys = keys
		case several:
			t := *tuple
			t.Elems = keys
			own.key = &t
		default:
			own.key = keys[0]
		}
	}
}

// textsRoom is the room that the longest of some texts needs.
func textsRoom(texts []string) int {
	room := 0
	for _, t := range texts {
		room = max(room, textcode.Pad(len(t)+1))
	}
	return room
}

// placeText puts the text of the place that was hit at off.
func (e arguments) placeText(off int16, size int, texts []string) {
	c := e.code
	mark := c.Stack
	key := c.Alloc(8)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R6))
	c.Call(asm.FnGetAttachCookie)
	c.Store(key, asm.R0)
	c.Get(load.NamesMap.Of(e.hook.Index), key, e.fail)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
	for i := 0; i < size; i += 8 {
		if i >= textsRoom(texts) {
			c.Zero(off+int16(i), 8)
			continue
		}
		c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(i), asm.DWord))
		c.Store(off+int16(i), asm.R0)
	}
	c.Stack = mark
}

// nameMaps adds the maps with the names of places.
func (im *Image) nameMaps() {
	for i, e := range im.graph.sources {
		if len(e.texts) == 0 {
			continue
		}
		room := textsRoom(e.texts)
		spec := &ebpf.MapSpec{
			Type: ebpf.Array, KeySize: 4, ValueSize: uint32(room), MaxEntries: uint32(len(e.texts)),
		}
		for k, text := range e.texts {
			value := make([]byte, room)
			copy(value, text)
			spec.Contents = append(spec.Contents, ebpf.MapKV{Key: uint32(k), Value: value})
		}
		im.define(load.NamesMap.Of(i), spec)
	}
}

// sessions has the programs of a call and of its return attached by one link, where the
// function does not call both by itself, which costs less.
func (im *Image) sessions(host *Host) {
	for i := range im.Programs {
		call := &im.Programs[i]
		if !im.canPair(host, call, false) {
			continue
		}
		for k := range im.Programs {
			ret := &im.Programs[k]
			if !ret.Returns && im.canPair(host, ret, true) && ret.User == call.User &&
				functionOf(ret) == functionOf(call) && (call.Direct == nil || ret.Direct == nil) {
				im.Pair(i, k, host.IsReturn)
				call.Direct, ret.Direct = nil, nil
				break
			}
		}
	}
}

// functionOf is the name behind the kind of a probe.
func functionOf(p *load.Program) string { return p.Attach[strings.IndexByte(p.Attach, ':')+1:] }

// canPair reports that a session may call a program, of a return or not. Registers that look
// as if a breakpoint had been run only probes of the kernel have.
func (im *Image) canPair(host *Host, p *load.Program, ret bool) bool {
	e := im.graph.sources[p.Event]
	may := host.KprobeSession
	if p.User {
		may = host.UprobeSession
	}
	if !may || e.Probe == nil || e.Probe.Return != ret || len(p.Places) != 1 || p.ID>>32 != 0 ||
		!p.User && strings.ContainsAny(e.Schema.Name, "+ ") {
		return false
	}
	return p.User || !slices.ContainsFunc(im.graph.nodes(p.Event), func(n expr.Node) bool {
		return slices.ContainsFunc(expr.UsesOf(n).Fields, func(f *expr.Field) bool {
			return f.F.Place == event.InRaw && f.F.Name != "common_pid"
		})
	})
}
