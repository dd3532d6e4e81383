package story

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
	"ppscript/runtime/why"
)

// This file converts explanations to stacks, for flame graphs. A stack has frames for the span, for
// each cause, for each thread of the path, and for the functions with which a thread left its CPU,
// if stacks were recorded. The total width is the time of all slow spans. Spans whose parts are not
// kept are included by their causes only.

// others is the label of the spans whose parts are not kept, if the kept ones
// have different labels.
const others = "other slow spans"

// Flame returns the time of all slow spans as stacks.
func Flame(w *result.Why) *result.Stacks {
	out := &result.Stacks{Meta: Meta(w), Value: "time", Unit: unit.Unit{Base: unit.NS.Base},
		Keys: []result.Column{{Name: "span", Kind: result.KeyColumn, Left: true}}}
	f := flame{w: w, out: out, frames: map[result.Frame]*result.Frame{}}
	rest := map[string]int64{}
	for i := range w.Causes {
		rest[Path(w.Causes[i].Path)] = w.Causes[i].Slow.NS
	}
	label, left := "", w.Slow.NS
	for i, s := range w.Slowest {
		if label = s.Label; i > 0 && label != w.Slowest[0].Label {
			label = others
		}
		for j := range s.Parts {
			p := &s.Parts[j]
			f.add(s.Label, p.Path, p.NS())
			left -= p.NS()
			rest[Path(why.General(p.Path))] -= p.NS()
		}
	}
	if label == "" {
		label = others
	}
	for i := range w.Causes {
		// If there were too many causes, causes of kept spans may be counted under
		// "others".
		if n := min(rest[Path(w.Causes[i].Path)], left); n > 0 {
			f.add(label, w.Causes[i].Path, n)
			left -= n
		}
	}
	out.Merge()
	out.Sort()
	return out
}

type flame struct {
	w      *result.Why
	out    *result.Stacks
	frames map[result.Frame]*result.Frame
}

func (f *flame) add(label string, path []result.WhyLink, ns int64) {
	x := result.StackSample{Key: []event.Value{event.StrOf(label)}, PID: -1, Count: 1, Value: ns}
	if path[0].Task.PID > 0 {
		x.PID = path[0].Task.PID
	}
	links := why.General(path)
	for i := len(path) - 1; i >= 0; i-- { // innermost first
		l := &links[i]
		if s, ok := f.w.Stacks[path[i].Stack]; ok {
			x.Frames = append(x.Frames, s.Frames...)
			x.Cut = x.Cut || s.Cut
		}
		cause := result.Frame{Symbol: Phrase(l), DSO: state(l.Kind), Kernel: inKernel(l.Kind)}
		x.Frames = append(x.Frames, f.frame(cause))
		if i > 0 && l.Task.Comm != "" {
			x.Frames = append(x.Frames, f.frame(result.Frame{Symbol: l.Task.Comm, DSO: "[thread]"}))
		}
	}
	f.out.Samples = append(f.out.Samples, x)
}

// frame returns the shared pointer for equal frames.
func (f *flame) frame(x result.Frame) *result.Frame {
	known := f.frames[x]
	if known == nil {
		known = &x
		f.frames[x] = known
	}
	return known
}

// state returns the DSO of a cause's frame, which determines its colour.
func state(k result.WhyKind) string {
	switch {
	case k == result.WhyUnknown || k == result.WhyUser || inKernel(k):
		return ""
	case k == result.WhySteal || k == result.WhyBehind || k == result.WhyQuota || k == result.WhyIdle:
		return "[runnable]"
	}
	return "[blocked]"
}

// inKernel reports whether a kind of cause is code of the kernel.
func inKernel(k result.WhyKind) bool {
	switch k {
	case result.WhySyscall, result.WhyKernel, result.WhyFault, result.WhyIRQ, result.WhySoftirq:
		return true
	}
	return false
}
