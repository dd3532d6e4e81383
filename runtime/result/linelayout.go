package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
)

// This file reads the lists of fields of perf script -F, and knows which fields lines have by default. Lists
// are kept by type of event, since events of a counter have no text and tracepoints need no period.

// LineFields is a set of the fields of a line.
type LineFields uint32

// The fields, in the order in which lines have them.
const (
	LineComm LineFields = 1 << iota
	LinePID
	LineTID
	LineCPU
	LineTime
	LinePeriod
	LineEvent
	LineTrace
	LineAddr
	LineWeight
	LineIP
	LineSymbol
	LineOffset
	LineDSO
	LinePhysAddr
)

var lineFieldNames = []string{"comm", "pid", "tid", "cpu", "time", "period", "event", "trace", "addr",
	"weight", "ip", "sym", "symoff", "dso", "phys_addr"}

// notShown are fields of perf's lines that lines have not.
var notShown = []string{"brstack", "brstacksym", "brstackoff", "iregs", "uregs", "insn", "insnlen", "srcline",
	"srccode", "bpf-output", "misc", "flags", "data_src", "metric", "synth", "callindent", "code_page_size",
	"data_page_size", "tod", "ins_lat", "machine_pid", "vcpu", "cgroup", "retire_lat", "disasm"}

// The types of events that have lists of their own: PERF_TYPE_* of linux/perf_event.h. otherTypes stands for
// the types of PMUs, which each machine numbers anew.
const (
	ofHardware = iota
	ofSoftware
	ofTracepoint
	ofCache
	ofRaw
	ofBreakpoint
	otherTypes
)

// lineTypes are the names of these types.
var lineTypes = []string{
	ofHardware:   "hw",
	ofSoftware:   "sw",
	ofTracepoint: "trace",
	ofCache:      "cache",
	ofRaw:        "raw",
	ofBreakpoint: "break",
	otherTypes:   "other",
}

// The fields by default: of tracepoints, of other events, and of the place of a sample.
const (
	traced  = LineComm | LineTID | LineCPU | LineTime | LineEvent | LineTrace
	sampled = LineComm | LineTID | LineCPU | LineTime | LinePeriod | LineEvent | placed
	placed  = LineIP | LineSymbol | LineOffset | LineDSO
)

// A LineLayout says which fields lines have, by type of event, as perf script -F does.
type LineLayout struct {
	fields [otherTypes + 1]LineFields
	chosen [otherTypes + 1]LineFields // that the user named
	whole  [otherTypes + 1]bool       // the user named all fields, and changed not only some
	Nanos  bool                       // times to the nanosecond, else to the microsecond
	// EventWidth is the width of the longest name of an event; names are aligned to it.
	EventWidth int
}

// ParseLine reads lists of fields: "comm,tid,time,event", with the type of event in front "sw:ip,sym", or
// changes of what is there by default "+addr,-cpu". No list is the default.
func ParseLine(items []string) (*LineLayout, error) {
	l := &LineLayout{}
	var types []int
	for i := range lineTypes {
		l.fields[i], types = sampled, append(types, i)
	}
	l.fields[ofTracepoint] = traced
	begins := true
	for _, item := range items {
		word := item
		if name, rest, typed := strings.Cut(item, ":"); typed {
			i := slices.Index(lineTypes, name)
			if i < 0 {
				return nil, lineError(item, fmt.Errorf("no such type of event; they are %s",
					strings.Join(lineTypes, ", ")), "write for example -F sw:comm,ip,sym")
			}
			types, begins, word = []int{i}, true, rest
		}
		changes := strings.HasPrefix(word, "+") || strings.HasPrefix(word, "-")
		if begins && !changes {
			for _, t := range types {
				l.fields[t], l.whole[t] = 0, true
			}
		}
		begins = false
		field, err := lineField(strings.TrimLeft(word, "+-"))
		if err != nil {
			return nil, err
		}
		for _, t := range types {
			if strings.HasPrefix(word, "-") {
				l.fields[t] &^= field
			} else {
				l.fields[t] |= field
				l.chosen[t] |= field
			}
		}
	}
	return l, nil
}

func lineField(name string) (LineFields, error) {
	if i := slices.Index(lineFieldNames, name); i >= 0 {
		return 1 << i, nil
	}
	if slices.Contains(notShown, name) {
		return 0, lineError(name, fmt.Errorf("only perf script shows it, which reads the same recordings"),
			"leave it out")
	}
	near := diag.DidYouMean(name, lineFieldNames)
	if near == "" {
		near = "; they are " + strings.Join(lineFieldNames, ", ")
	}
	return 0, lineError(name, fmt.Errorf("no such field%s", near), "write -F comm,tid,time,event,trace")
}

func lineError(subject string, cause error, hint string) error {
	return diag.Errorf(diag.Usage, "fields", subject, "%w", cause).WithHint("%s", hint)
}

// All are the fields that the lines of any event have.
func (l *LineLayout) All() (all LineFields) {
	for _, f := range l.fields {
		all |= f
	}
	return all
}

// Of returns the fields of the line of an event. The CPU is left out where the event lacks it, unless the
// user named it: perf record does not ask for it where it follows a command. Tracepoints with a call
// stack show it by default.
func (l *LineLayout) Of(e *event.Event, stack bool) LineFields {
	i := lineType(e)
	f := l.fields[i]
	if stack && !l.whole[i] {
		f |= placed
	}
	if e.CPU < 0 {
		f &^= LineCPU &^ l.chosen[i]
	}
	return f
}

// Align widens the column of names for the events of a stream.
func (l *LineLayout) Align(s *event.Stream) {
	l.EventWidth = max(l.EventWidth, utf8.RuneCountInString(EventName(s)))
}

// EventName is the name of a stream's events as perf writes it: that of a counter without its kind.
func EventName(s *event.Stream) string {
	full := s.Schema.FullName()
	if (s.Label == "" || s.Label == full) && s.Schema.Type != ofTracepoint &&
		slices.Contains([]string{"software", "hardware", "cache"}, s.Schema.System) {
		return s.Schema.Name
	}
	return cmp.Or(s.Label, full)
}

// OfSchema returns the fields of the lines of all events of a kind.
func (l *LineLayout) OfSchema(s *event.Schema) LineFields { return l.fields[typeOf(s)] }

func lineType(e *event.Event) int {
	if e.Stream == nil || e.Derived != nil {
		return ofTracepoint
	}
	return typeOf(e.Stream.Schema)
}

func typeOf(s *event.Schema) int {
	switch s.System {
	case "kprobe", "kretprobe", "uprobe", "uretprobe", "usdt":
		return ofTracepoint // which they are for perf
	}
	return int(min(s.Type, otherTypes))
}
