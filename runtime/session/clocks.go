package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/kernel"
	"ppscript/runtime/order"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
	"ppscript/runtime/tsc"
	"ppscript/runtime/unit"
)

// This file brings the times of this machine's events on the clock that the
// user wants: the CPU's counter, a guest's clock, or perf's own with an offset.

// kcyc is the unit of durations that were counted in cycles.
var kcyc = unit.Unit{Symbol: "kcyc", Base: "cycles", Scale: 1e3, Prec: 3}

// find settles how times are converted, before the plan's events are read:
// those of before wait in their rings.
func (c *wallClock) find(ctx context.Context, w *env, live *perf.Source) error {
	o := &w.cfg.Options.Clock
	offset := event.Time(o.Offset)
	switch {
	case !o.TSC && o.KVM == "":
		if offset != 0 {
			c.conv = func(t event.Time) event.Time { return t + offset }
		}
		return nil
	case live == nil:
		return diag.Errorf(diag.Usage, "clock", "",
			"there are no events of this machine whose times could be converted").
			WithHint("leave out --tsc and --kvmclock")
	}
	var vm *kernel.VM
	var err error
	if name := o.KVM; name != "" {
		if vm, err = kernel.FindVM(kernel.Roots{}, name); err != nil {
			return diag.Errorf(diag.Usage, "kvmclock", name, "%w", err).
				WithHint("give the process of the virtual machine's monitor, or its UUID")
		}
	}
	counter, err := live.TSC()
	if err != nil {
		return diag.Errorf(diag.Run, "clock", "", "%w", err).
			WithHint("see cat /sys/devices/system/clocksource/clocksource0/current_clocksource; it must be tsc")
	}
	if o.TSC {
		c.conv = func(t event.Time) event.Time { return event.Time(counter.Cycles(t)) + offset }
		return nil
	}
	pv, err := w.guestClock(ctx, vm)
	if err != nil {
		return err
	}
	c.conv = func(t event.Time) event.Time { return pv.Time(counter.Cycles(t)) + offset }
	return nil
}

// guestClock waits for the guest's clock to be updated: only then does the
// kernel say how it runs.
func (w *env) guestClock(ctx context.Context, vm *kernel.VM) (pv *tsc.PVClock, err error) {
	fail := func(err error, hint string) error {
		return diag.Errorf(diag.Run, "kvmclock", w.cfg.Options.Clock.KVM, "%w", err).WithHint("%s", hint)
	}
	pv = &tsc.PVClock{}
	if pv.Offset, pv.Ratio, pv.FracBits, err = vm.Counter(kernel.Roots{}); err != nil {
		return nil, fail(err, "this takes root, and a host whose KVM runs the machine")
	}
	update := &plan.Source{Kind: plan.Tracepoint, System: "kvm", Name: "kvm_pvclock_update"}
	found, err := w.events.here.Find(update)
	if err != nil {
		return nil, err
	}
	schema := found[0]
	src, err := perf.Open(ctx,
		perf.Config{Target: perf.Target{PIDs: []int{vm.PID}}, Tracefs: w.events.here.Tracefs(), Pages: 1,
			Events:  []perf.EventConfig{{Schema: schema, Filter: "vcpu_id == 0"}},
			Members: []event.Member{event.MemberTime}})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	w.msgs.note("kvmclock: waiting for an update of the guest's clock")
	for {
		err := src.Poll(ctx, pollTime)
		if ctx.Err() != nil || err != nil {
			return nil, fail(errors.Join(err, ctx.Err()),
				"the clock is updated when the guest sets it, or its first CPU moves to another of the host's")
		}
		if updated(src, schema, pv) {
			w.msgs.note("kvmclock: updated")
			return pv, nil
		}
	}
}

// updated reads the last update that came.
func updated(src event.Source, schema *event.Schema, pv *tsc.PVClock) (came bool) {
	order.NewDrain(src).Round(func(evs []*event.Event) {
		for _, e := range evs {
			if e.Kind != event.Sample {
				continue
			}
			n := map[string]int64{}
			for _, name := range []string{"tsc_timestamp", "system_time", "tsc_to_system_mul", "tsc_shift"} {
				f, ok := schema.Field(name)
				if !ok {
					return
				}
				n[name], _ = f.Int(e)
			}
			pv.TSCTimestamp, pv.SystemTime = uint64(n["tsc_timestamp"]), uint64(n["system_time"])
			pv.Mul, pv.Shift = uint32(n["tsc_to_system_mul"]), int8(n["tsc_shift"])
			came = true
		}
	}, true)
	return came
}

// convert has the times of a source on the clock that the user wants.
func (c *wallClock) convert(src event.Source) event.Source {
	conv := c.conv
	if conv == nil {
		return src
	}
	return order.Convert(src, func(e *event.Event) {
		if e.Time != 0 {
			e.Time = conv(e.Time)
		}
	})
}

// A host is where a guest's virtual CPUs run, as seen from the host.
type host struct {
	vm   *kernel.VM
	cpus map[int]int // by thread: its only CPU, or -1
	when time.Time   // they were looked at
}

func findHost(name string) (*host, error) {
	vm, err := kernel.FindVM(kernel.Roots{}, name)
	if err != nil {
		return nil, fmt.Errorf("vm=%s: %w", name, err)
	}
	return &host{vm: vm, cpus: map[int]int{}}, nil
}

// place turns a guest's CPU into the thread that it is on the host.
func (h *host) place(e *event.Event) {
	tid, ok := h.vm.VCPUs[int(e.CPU)]
	if !ok {
		return
	}
	if time.Since(h.when) > time.Second {
		clear(h.cpus)
		h.when = time.Now()
	}
	cpu, ok := h.cpus[tid]
	if !ok {
		cpu = kernel.CPUOf(kernel.Roots{}, tid)
		h.cpus[tid] = cpu
	}
	e.PID, e.TID, e.CPU = int32(h.vm.PID), int32(tid), int32(cpu)
}
