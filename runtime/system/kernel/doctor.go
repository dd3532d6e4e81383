package kernel

import (
	"context"
	"os"
	"slices"
	"strings"

	"ppscript/runtime/system/privilege"
)

// Status is the outcome of one check.
type Status uint8

// The outcomes. Unknown means that the check could not decide; the next run
// tries again, since nothing is remembered.
const (
	Unknown Status = iota
	OK
	Warn // works in part, or something useful is missing
	Fail // no event of some kind can be used
)

func (s Status) String() string { return [...]string{"unknown", "ok", "warn", "fail"}[s] }

// A Check is one line of `ppscript doctor`.
type Check struct {
	Name   string
	Status Status
	Detail string // the finding
	Fix    string // a command or an instruction that would make it OK; empty if there is none
}

// DoctorOptions adapt Doctor. The zero value examines the running machine.
type DoctorOptions struct {
	Roots Roots
	// Tracefs returns the mount point of tracefs. It is a function because
	// runtime/source/tracefs, which finds the mount point, imports this package;
	// if nil, mountinfo decides.
	Tracefs func() (string, error)
	// Program is the file to name in setcap commands; this executable if empty.
	Program string
}

// Doctor tries each feature that tracing needs and reports whether it works,
// what is missing, and which command fixes it. It opens events and makes them
// happen, maps a ring and loads BPF programs, and releases all of them. It also
// works as an ordinary user. It takes some tenths of a second; when ctx is
// done, the remaining checks are Unknown.
func Doctor(ctx context.Context, o DoctorOptions) []Check {
	if o.Program == "" {
		o.Program = "ppscript"
		if path, err := os.Executable(); err == nil {
			o.Program = path
		}
	}
	// A file that cannot be read leaves its facts empty, and the check for it
	// says so; the joined error adds nothing.
	facts, _ := read(o.Roots)
	d := &doctor{Facts: facts, opts: o, root: os.Geteuid() == 0}
	if o.Tracefs == nil {
		d.opts.Tracefs = d.mountedTracefs
	}
	d.try = d.trials()
	programs := bpfDoctor{d}

	var checks []Check
	for _, c := range []struct {
		name string
		run  func() Check
	}{
		{"kernel", d.kernel},
		{"machine", d.machine},
		{"CPUs", d.cpus},
		{"capabilities", d.capabilities},
		{"perf_event_paranoid", d.paranoid},
		{"lockdown", d.lockdown},
		{"tracefs", d.tracefs},
		{"tracepoint events", d.tracepoint},
		{"switches", d.switches},
		{"idle events", d.idle},
		{"software events", d.software},
		{"counters", d.counters},
		{"samples", d.sampling},
		{"event clock", d.eventClock},
		{"hardware events", d.hardware},
		{"PMUs", d.pmus},
		{"breakpoints", d.breakpoints},
		{"kprobes", d.kprobes},
		{"uprobes", d.uprobes},
		{"sample rate", d.sampleRate},
		{"rings", d.rings},
		{"open files", d.openFiles},
		{"kernel symbols", d.symbols},
		{"cgroups", d.cgroups},
		{"BTF", d.btf},
		{"BPF tracepoint", programs.tracepoint},
		{"BPF raw tracepoint", programs.rawTracepoint},
		{"BPF typed tracepoint", programs.typedTracepoint},
		{"BPF fentry", programs.fentry},
		{"BPF ring buffer", programs.ringBuffer},
	} {
		check := Check{Status: Unknown, Detail: "not examined"}
		if err := ctx.Err(); err != nil {
			check.Detail += ": " + err.Error()
		} else {
			check = c.run()
		}
		check.Name = c.name
		checks = append(checks, check)
	}
	return checks
}

// doctor is the state of one run of Doctor, which its checks share.
type doctor struct {
	Facts
	opts DoctorOptions
	root bool
	try  trials
}

func ok(detail string) Check          { return Check{Status: OK, Detail: detail} }
func warn(detail, fix string) Check   { return Check{Status: Warn, Detail: detail, Fix: fix} }
func fail(detail, fix string) Check   { return Check{Status: Fail, Detail: detail, Fix: fix} }
func unsure(detail, fix string) Check { return Check{Status: Unknown, Detail: detail, Fix: fix} }

// command is a shell command that needs root.
func (d *doctor) command(cmd string) string {
	if d.root {
		return cmd
	}
	return "sudo " + cmd
}

// grant is the instruction that gives caps to the program. It includes the capabilities
// that the program already has, since setcap replaces all.
func (d *doctor) grant(caps string) string {
	if d.root {
		return "give the container or service " + caps
	}
	list := d.haves()
	for _, c := range strings.Split(caps, ",") {
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return privilege.Advice(strings.Join(list, ","), d.opts.Program)
}

// traceCap is the capability for events of all processes.
func (d *doctor) traceCap() Cap {
	if d.Version.Major > 0 && !d.Version.AtLeast(5, 8) {
		return CapSysAdmin
	}
	return CapPerfmon
}
