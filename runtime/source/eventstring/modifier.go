package eventstring

import (
	"regexp"
	"strings"

	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
)

// This file parses perf's modifiers after an event: cycles:u, sched:sched_switch:k,
// cpu/event=0x3c/u. The kernel applies a modifier according to the kind of event
// (perf_exclude_event and perf_tp_event_match of kernel/events/core.c): it checks them itself for
// samples of software events, the CPU checks them for its counters, and for a tracepoint only the
// exclusion of user code matters.

// modified matches an event with modifiers after its name.
var modified = regexp.MustCompile(`^(.+):([a-zA-Z]+)$`)

const modifierLetters = "ukhGHIpPSDeWbR"

// cutModifiers splits an event into its name and its modifiers.
func cutModifiers(name string) (event, modifiers string) {
	m := modified.FindStringSubmatch(name)
	if m == nil || strings.Trim(m[2], modifierLetters) != "" {
		return name, ""
	}
	var s plan.Source
	if alone(&s, m[1]) || strings.Contains(m[1], ":") && !strings.HasSuffix(m[1], ":") &&
		(!strings.HasPrefix(m[1], "usdt:") || strings.Contains(m[1], "@")) {
		return m[1], m[2]
	}
	return name, ""
}

// behindFilter matches the modifiers after the last slash of cpu/event=0x3c/u.
var behindFilter = regexp.MustCompile(`^:?[` + modifierLetters + `]+(?:,|$)`)

// modifiersBehind returns the modifiers after the slash that ends a filter, as written; "" if other
// text is there.
func (p *parser) modifiersBehind() string {
	return strings.TrimSuffix(behindFilter.FindString(p.text[p.pos:]), ",")
}

// otherModifiers are the modifiers of perf that are not supported, each with
// the reason and the alternative.
var otherModifiers = map[rune]string{
	'S': "reads the counters of a group with each sample, and there are no groups; " +
		"ppscript stat -e A,B counts events side by side",
	'P': "asks for the most precision that the CPU has; write :p, :pp or :ppp",
	'e': "keeps other counters off the CPU; write :D, which keeps this one on it",
	'W': "breaks groups up, and there are no groups; leave it out",
	'b': "has programs of the kernel count for perf; leave it out: ppscript decides itself",
	'R': "is about latencies of groups of events, and there are no groups; leave it out",
}

// Modify applies modifiers to an event whose text does not contain them.
func Modify(s *plan.Source, modifiers string) error {
	p := &parser{text: s.Pos}
	return p.modify(s, 0, modifiers)
}

// modify applies modifiers to the event that begins at offset start of the
// string.
func (p *parser) modify(s *plan.Source, start int, modifiers string) error {
	if modifiers == "" {
		return nil
	}
	fail := func(hint, format string, args ...any) error {
		e := p.fail(start, format, args...)
		e.Hint = hint
		return e
	}
	var user, kernel, hypervisor, host, guest bool
	for _, c := range modifiers {
		switch c {
		case 'u':
			user = true
		case 'k':
			kernel = true
		case 'h':
			hypervisor = true
		case 'G':
			guest = true
		case 'H':
			host = true
		case 'I':
			s.Exclude.Idle = true
		case 'D':
			s.Pinned = true
		case 'p':
			if s.Precise++; s.Precise > 3 {
				return fail("write :p, :pp or :ppp", "modifier p: got %d of them, want 3 at most", s.Precise)
			}
		default:
			why, what, _ := strings.Cut(otherModifiers[c], "; ")
			return fail(what, "modifier %c: it %s", c, why)
		}
	}
	x := &s.Exclude
	if user || kernel || hypervisor {
		x.User, x.Kernel, x.Hypervisor = !user, !kernel, !hypervisor
	}
	if host != guest {
		x.Host, x.Guest = guest, host
	}
	written := s.FullName() + ":" + modifiers
	if s.Alias == "" && s.Kind != eventspec.Tracepoint && s.Kind != eventspec.Script {
		s.Alias = written // the results of cycles:u and cycles:k stay distinct
	}
	if s.Kind.Sampled() && s.Kind != eventspec.Software || s.Kind == eventspec.Script {
		return nil // the CPU or the PMU applies the modifiers
	}
	switch never := noUserCode(s); {
	case x.User && x.Kernel:
		return fail("count cycles:h, or another counter of the CPU",
			"%s: only counters of the CPU distinguish a hypervisor", written)
	case x.Kernel && never:
		return fail("leave u out: "+strings.TrimSuffix(written, ":"+modifiers),
			"%s: it happens in the kernel only, never in user code", written)
	}
	s.Precise, s.Pinned = 0, false // only counters of the CPU are precise and pinned
	if s.Kind == eventspec.Tracepoint || s.Dynamic() {
		// The kernel excludes these events only by whether registers of user code exist. They
		// do for all events that reach this line.
		x.User, x.Kernel, x.Hypervisor, x.Idle = false, false, false, false
	}
	return nil
}

// noUserCode reports that at each of these events the registers are the kernel's, never a
// program's.
func noUserCode(s *plan.Source) bool {
	switch {
	case s.Kind == eventspec.Software:
		switch s.Name {
		case "context-switches", "cs", "cpu-migrations", "migrations", "cgroup-switches", "bpf-output":
			return true
		}
		return false
	case s.Probe != nil:
		return s.Dynamic() && strings.HasPrefix(s.Probe.Kind.String(), "k")
	}
	// perf_syscall_enter and perf_syscall_exit pass the registers of the program. So do probes in
	// programs; perf probe names their systems probe_*.
	return s.Kind == eventspec.Tracepoint && s.System != "syscalls" && s.System != "uprobes" &&
		!strings.HasPrefix(s.System, "probe_")
}
