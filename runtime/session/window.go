package session

import (
	"os"

	"ppscript/bpf/load"
	"ppscript/runtime/plan"
	"ppscript/runtime/record/flightbuffer"
	"ppscript/runtime/system/kernel"
)

// This file shows slow pairs with the events that programs keep.

// keptMost is the memory of each CPU for kept events where the user says nothing: some
// 20 ms of three million events a second.
const keptMost = 8 << 20

// A windows is the memory with the kept events, and the joins whose pairs they are shown
// with.
type windows struct {
	*flightbuffer.Window // nil if there is none
	joins                []*plan.JoinRun
}

// open opens what the programs of a run keep.
func (w *windows) open(r *run) (err error) {
	if r.env.sender == nil || !r.plan.Kernel.Sends() {
		return nil
	}
	cpus, counts, slots, ok := r.env.sender.KeptMemory()
	if !ok {
		return nil
	}
	c := flightbuffer.Config{CPUs: cpus, CountsFD: counts, CountSize: load.KeptCountSize, SlotsFD: slots,
		Layout: r.plan.Kernel.Image.KeptLayout()}
	for _, e := range r.plan.Events {
		c.Streams = append(c.Streams, r.instance.Stream(e.Stream))
	}
	if w.Window, err = flightbuffer.Open(c); err != nil {
		return err
	}
	for _, j := range plan.Runs[*plan.JoinRun](r.instance) {
		if t := j.Timeline(); t != nil {
			t.FillFrom(w.Of(r.plan.Kernel.Image.KeptBy(j.Spec())))
			w.joins = append(w.joins, j)
		}
	}
	return nil
}

// due shows the pairs for which what came after them is there.
func (w *windows) due() {
	if w.awaited() {
		now := w.Now()
		for _, j := range w.joins {
			j.Timeline().Due(now)
		}
	}
}

// awaited reports that some pair waits for what comes after it.
func (w *windows) awaited() bool {
	for _, j := range w.joins {
		if j.Timeline().Awaited() {
			return true
		}
	}
	return false
}

// close gives the memory back.
func (w *windows) close() error {
	if w.Window == nil {
		return nil
	}
	return w.Close()
}

// windowSize is how much memory each CPU has for kept events, and how many share the bound of
// the plan; 0 if the user has said how much.
func (o *Options) windowSize() (bytes, cpus int) {
	all, err := kernel.ReadCPUs(kernel.Roots{})
	if err != nil {
		return 0, 1
	}
	cpus = all.Possible[len(all.Possible)-1] + 1
	if o.Reading.Pages > 0 {
		return o.Reading.Pages * os.Getpagesize(), 0
	}
	return keptMost, cpus
}
