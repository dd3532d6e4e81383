package wallclock

import (
	"fmt"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
)

// A Host is where a guest's virtual CPUs run, as seen from the host.
type Host struct {
	vm   *kernel.VM
	cpus map[int]int // by thread: its only CPU, or -1
	when time.Time   // they were looked at
}

// FindHost finds the virtual machine of a monitor, by its process or UUID.
func FindHost(name string) (*Host, error) {
	vm, err := kernel.FindVM(kernel.Roots{}, name)
	if err != nil {
		return nil, fmt.Errorf("vm=%s: %w", name, err)
	}
	return &Host{vm: vm, cpus: map[int]int{}}, nil
}

// Place turns a guest's CPU into the thread that it is on the host.
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
