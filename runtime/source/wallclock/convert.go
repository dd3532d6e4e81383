package wallclock

import (
	"context"
	"errors"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tsc"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// This file converts the times of this machine's events to the clock that the
// user chose: the CPU's counter, a guest's clock, or perf's clock with an
// offset.

// ClockChoice is the clock for the times of events, as chosen by the user.
type ClockChoice struct {
	// Offset is added to the times of events of this machine or of the recording,
	// in ns. The user is then responsible for the relation of the clocks.
	Offset    int64
	TSC       bool   // times are the CPU's cycles
	KVM       string // times are on the clock of this guest, named by process or UUID
	Monotonic bool   // stamp events with CLOCK_MONOTONIC
}

// Converts reports that the times of events are converted.
func (w *ClockChoice) Converts() bool { return w.Offset != 0 || w.TSC || w.KVM != "" }

// Kernel has the functions and files that are needed to read a guest's clock.
type Kernel struct {
	// Tracepoint finds a tracepoint, and Tracefs is where its format is.
	Tracepoint func(system, name string) (*event.Schema, error)
	Tracefs    string
	Note       func(format string, args ...any)
}

// Find sets Conv. It runs before the events of the plan are read; until then,
// events wait in their rings.
func (c *Clock) Find(ctx context.Context, o *ClockChoice, k Kernel, live *perf.Source) error {
	offset := event.Time(o.Offset)
	switch {
	case !o.TSC && o.KVM == "":
		if offset != 0 {
			c.Conv = func(t event.Time) event.Time { return t + offset }
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
		c.Conv = func(t event.Time) event.Time { return event.Time(counter.Cycles(t)) + offset }
		return nil
	}
	pv, err := k.guest(ctx, o.KVM, vm)
	if err != nil {
		return err
	}
	c.Conv = func(t event.Time) event.Time { return pv.Time(counter.Cycles(t)) + offset }
	return nil
}

// guest waits for the next update of the guest's clock: only then does the
// kernel report its parameters.
func (k Kernel) guest(ctx context.Context, name string, vm *kernel.VM) (pv *tsc.PVClock, err error) {
	fail := func(err error, hint string) error {
		return diag.Errorf(diag.Run, "kvmclock", name, "%w", err).WithHint("%s", hint)
	}
	pv = &tsc.PVClock{}
	if pv.Offset, pv.Ratio, pv.FracBits, err = vm.Counter(kernel.Roots{}); err != nil {
		return nil, fail(err, "this takes root, and a host whose KVM runs the machine")
	}
	schema, err := k.Tracepoint("kvm", "kvm_pvclock_update")
	if err != nil {
		return nil, err
	}
	src, err := perf.Open(ctx,
		perf.Config{Target: perf.Target{PIDs: []int{vm.PID}}, Tracefs: k.Tracefs, Pages: 1,
			Events:  []perf.EventConfig{{Schema: schema, Filter: "vcpu_id == 0"}},
			Members: []event.Member{event.MemberTime}})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	k.Note("kvmclock: waiting for an update of the guest's clock")
	for {
		err := src.Poll(ctx, updateTime)
		if ctx.Err() != nil || err != nil {
			return nil, fail(errors.Join(err, ctx.Err()),
				"the clock is updated when the guest sets it, or its first CPU moves to another of the host's")
		}
		if updated(src, schema, pv) {
			k.Note("kvmclock: updated")
			return pv, nil
		}
	}
}

// updateTime is the interval at which guest looks for an update.
const updateTime = 100 * time.Millisecond

// updated reads the last update from the ring; false if there was none.
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

// Convert returns a source whose times are on the clock that the user chose.
func (c *Clock) Convert(src event.Source) event.Source {
	conv := c.Conv
	if conv == nil {
		return src
	}
	return order.Convert(src, func(e *event.Event) {
		if e.Time != 0 {
			e.Time = conv(e.Time)
		}
	})
}
