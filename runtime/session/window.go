package session

import (
	"os"

	"ppscript/bpf/load"
	"ppscript/runtime/plan"
	"ppscript/runtime/record/flightbuffer"
	"ppscript/runtime/system/kernel"
)

// This file shows slow pairs together with the events around them, which
// programs in the kernel keep in the flight buffer.

// keptMost is the memory for kept events of each CPU in bytes, if the user does not
// choose it: about 20 ms at three million events a second.
const keptMost = 8 << 20

// windows has the memory with the kept events, and the joins whose pairs are shown
// with them.
type windows struct {
	*flightbuffer.Window // nil if there is none
	joins                []*plan.JoinRun
}

// open opens the kept events of the run's programs.
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

// due shows the pairs that waited for later events and now have them.
func (w *windows) due() {
	if w.awaited() {
		now := w.Now()
		for _, j := range w.joins {
			j.Timeline().Due(now)
		}
	}
}

// awaited reports that some pair waits for later events.
func (w *windows) awaited() bool {
	for _, j := range w.joins {
		if j.Timeline().Awaited() {
			return true
		}
	}
	return false
}

// close unmaps the memory.
func (w *windows) close() error {
	if w.Window == nil {
		return nil
	}
	return w.Close()
}

// windowSize returns the memory for kept events of each CPU, and the number of CPUs that
// share the plan's bound on memory; cpus is 0 if the user chose the size.
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
