package wallclock

import (
	"fmt"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
)

// A Host finds the CPUs of the host on which the virtual CPUs of a guest run.
type Host struct {
	vm   *kernel.VM
	cpus map[int]int // by thread: its only CPU, or -1
	when time.Time   // when cpus was read
}

// FindHost finds a virtual machine by the process of its monitor (such as qemu)
// or by its UUID.
func FindHost(name string) (*Host, error) {
	vm, err := kernel.FindVM(kernel.Roots{}, name)
	if err != nil {
		return nil, fmt.Errorf("vm=%s: %w", name, err)
	}
	return &Host{vm: vm, cpus: map[int]int{}}, nil
}

// Place replaces the guest's CPU of an event by the host's thread that runs it,
// and by that thread's CPU.
func (h *Host) Place(e *event.Event) {
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
