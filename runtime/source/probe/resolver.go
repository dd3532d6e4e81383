package probe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
)

// A Resolver finds probes. It caches the files that it has read, so a session
// should use one Resolver. It is used by one goroutine.
type Resolver struct {
	// Kernel finds addresses of kernel symbols; breakpoints and addresses of
	// kprobes need it.
	Kernel KernelSymbols
	// PID is the process that the session observes, 0 if it is not just one.
	// Specs without a process refer to it if they name its program or a
	// variable.
	PID int
	// Place appends the symbol of an instruction in e's process or the kernel;
	// if it is nil, lines have no symbols of programs.
	Place func(dst []byte, e *event.Event, ip uint64) []byte
	// Types are the kernel's types, from which arguments of its functions get their
	// names; if it is nil, the arguments are named by register.
	Types *kerneltype.Types
	// Devices is the directory of PMUs; "/sys/bus/event_source/devices" if
	// empty.
	Devices string
	// Proc is "/proc" if empty.
	Proc string

	images map[string]*image
	text   []string // names of kernel functions, read once
	core   kernelMemory
}

// KernelSymbols is the part of symbol.Kernel that probes need.
type KernelSymbols interface {
	Address(name string) (uint64, bool)
	Text(addr uint64) string
	Err() error
}

// Resolve finds the Probes for a Spec: one, or several for a pattern and for
// the return instructions of a Go function.
func (r *Resolver) Resolve(s Spec) ([]*Probe, error) {
	if s.PID < 0 {
		return nil, diag.Errorf(diag.Usage, s.Kind.String(), s.Name, "pid: got %d, want a process", s.PID).
			WithHint("see processes with: ps -e")
	}
	if s.Name == "" {
		return nil, diag.Errorf(diag.Usage, s.Kind.String(), "", "no name given").
			WithHint("name a function, as in %s", examples[s.Kind])
	}
	switch s.Kind {
	case Kprobe, Kretprobe:
		return r.kernelProbe(s)
	case Uprobe, Uretprobe:
		return r.userProbe(s)
	case USDT:
		return r.usdt(s)
	case Breakpoint:
		return r.breakpoint(s)
	}
	panic("BUG: kind of a probe")
}

var examples = [...]string{
	Kprobe:     `kprobe("do_sys_openat2")`,
	Kretprobe:  `kretprobe("do_sys_openat2")`,
	Uprobe:     `uprobe("/bin/bash", "readline")`,
	Uretprobe:  `uretprobe("/bin/bash", "readline")`,
	USDT:       `usdt("libstdcxx:throw", "libstdc++")`,
	Breakpoint: `breakpoint("0x404040", len = 4, pid = 1234)`,
}

func (r *Resolver) proc() string {
	if r.Proc == "" {
		return "/proc"
	}
	return r.Proc
}

// pmu reads the type number of a PMU, which differs between kernels.
func (r *Resolver) pmu(name string) (uint32, error) {
	text, err := r.device(name, "type")
	if errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	if err != nil {
		return 0, fmt.Errorf("read PMU %s: %w", name, err)
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read PMU %s: %w", name, err)
	}
	return uint32(n), nil
}

func (r *Resolver) device(name, file string) (string, error) {
	dir := r.Devices
	if dir == "" {
		dir = "/sys/bus/event_source/devices"
	}
	b, err := os.ReadFile(dir + "/" + name + "/" + file)
	return strings.TrimSpace(string(b)), err
}

// retProbe is attr.config of probes on the return of a function.
const retProbe = 1

func config(k Kind) uint64 {
	if k.returns() {
		return retProbe
	}
	return 0
}

// arguments adds the fields for arguments or results: the declared ones, and
// the registers of the calling convention.
func (s *Spec) arguments(b *builder, c *convention) error {
	if s.Args != "" && !s.Kind.returns() {
		if err := declare(b, c, s); err != nil {
			return err
		}
	}
	if s.Ret != "" && s.Kind.returns() {
		if err := declareReturn(b, c, s); err != nil {
			return err
		}
	}
	if s.Kind.returns() {
		c.exit(b)
	} else {
		c.entry(b)
	}
	return nil
}

// inThread are the sample members that are needed to read the memory of an
// event's process.
var inThread = []event.Member{event.MemberTID}
