package kernel

import (
	"fmt"
	"strconv"
	"strings"
)

// Cap is the number of a capability, as in the kernel's capability.h.
type Cap uint

// The capabilities that tracing can need.
const (
	CapDACReadSearch Cap = 2  // CAP_DAC_READ_SEARCH: read tracefs as an ordinary user
	CapNetAdmin      Cap = 12 // CAP_NET_ADMIN: some BPF program types
	CapIPCLock       Cap = 14 // CAP_IPC_LOCK: rings of any size
	CapSysPtrace     Cap = 19 // CAP_SYS_PTRACE: other users' processes, /proc/PID/maps
	CapSysAdmin      Cap = 21 // CAP_SYS_ADMIN: everything below on kernels before 5.8
	CapSysResource   Cap = 24 // CAP_SYS_RESOURCE: raise limits
	CapSyslog        Cap = 34 // CAP_SYSLOG: addresses in kallsyms if kptr_restrict is 1
	CapPerfmon       Cap = 38 // CAP_PERFMON: perf_event_open and tracing BPF, since 5.8
	CapBPF           Cap = 39 // CAP_BPF: bpf(2), since 5.8
)

var capNames = map[Cap]string{
	CapDACReadSearch: "cap_dac_read_search", CapNetAdmin: "cap_net_admin", CapIPCLock: "cap_ipc_lock",
	CapSysPtrace: "cap_sys_ptrace", CapSysAdmin: "cap_sys_admin", CapSysResource: "cap_sys_resource",
	CapSyslog: "cap_syslog", CapPerfmon: "cap_perfmon", CapBPF: "cap_bpf",
}

// String is the name in the form of setcap.
func (c Cap) String() string {
	if name, ok := capNames[c]; ok {
		return name
	}
	return "cap_" + strconv.Itoa(int(c))
}

// Caps is a set of capabilities, one bit each.
type Caps uint64

// Has reports whether c is in the set.
func (s Caps) Has(c Cap) bool { return c < 64 && s>>c&1 == 1 }

// CanTrace reports whether the set suffices for perf_event_open on every
// process at any level of perf_event_paranoid.
func (s Caps) CanTrace() bool { return s.Has(CapPerfmon) || s.Has(CapSysAdmin) }

// CanBPF reports whether the set suffices to load tracing programs.
func (s Caps) CanBPF() bool { return s.Has(CapSysAdmin) || s.Has(CapBPF) && s.Has(CapPerfmon) }

// ReadCaps reads the permitted capabilities of this process. Some of them are
// not always effective: see package privilege.
func ReadCaps(r Roots) (Caps, error) {
	status, err := readLine(r.ProcPath("self/status"))
	if err != nil {
		return 0, fmt.Errorf("read capabilities: %w", err)
	}
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapPrm:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err != nil {
				return 0, fmt.Errorf("read capabilities: %w", err)
			}
			return Caps(set), nil
		}
	}
	return 0, fmt.Errorf("read capabilities: no CapPrm in /proc/self/status")
}

// TracingIsOpen reports that perf_event_paranoid lets every user trace all processes.
func TracingIsOpen(r Roots) bool {
	level := readSetting(r.ProcPath("sys/kernel", "perf_event_paranoid"))
	return level.readable() && level.Value < 0
}
