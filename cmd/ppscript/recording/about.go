package recording

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"

	"golang.org/x/sys/unix"
)

// This file describes the content of a recording, for ppscript info.

// An About is the description of a recording. Its JSON is documented output.
type About struct {
	File   string   `json:"file"`
	Bytes  int64    `json:"bytes,omitempty"`
	MadeBy string   `json:"made_by,omitempty"`
	Form   []string `json:"form,omitempty"` // pipe, compressed, trace.dat version 7
	Machine
	Times
	Loss   event.Loss `json:"loss"`
	Events []Event    `json:"events"`
	Asks   []string   `json:"profilers,omitempty"`
	AsksOf []string   `json:"profilers_with_events,omitempty"` // with -e
	Notes  []string   `json:"notes,omitempty"`
}

// A Machine describes the machine on which a recording was made, and the
// command that made it.
type Machine struct {
	Host    string   `json:"host,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Arch    string   `json:"arch,omitempty"`
	CPU     string   `json:"cpu,omitempty"`
	CPUs    int      `json:"cpus,omitempty"`
	Command []string `json:"command,omitempty"`
}

// Times has the times of the first and the last sample, on the recording's
// clock and as time of day.
type Times struct {
	First event.Time `json:"first_ns"`
	Last  event.Time `json:"last_ns"`
	Begin string     `json:"begin,omitempty"` // wall clock, RFC 3339
	End   string     `json:"end,omitempty"`
	Clock string     `json:"clock"`
}

// An Event describes one event of a recording.
type Event struct {
	Name    string     `json:"name"`
	Alias   string     `json:"alias,omitempty"`
	Samples uint64     `json:"samples"`
	First   event.Time `json:"first_ns,omitempty"`
	Last    event.Time `json:"last_ns,omitempty"`
	Stacks  bool       `json:"stacks,omitempty"`
	Fields  int        `json:"fields"` // number of fields, without the common ones
}

// Read reads the whole recording. It calls progress, if it is not nil, with the
// bytes read so far.
func Read(ctx context.Context, path string, progress func(read, size uint64)) (t *About, err error) {
	options := perfdata.Options{Progress: progress}
	var f *perfdata.File
	if st, e := os.Stat(path); e == nil && st.Mode()&os.ModeNamedPipe != 0 {
		var in *os.File
		if in, err = infile.OpenNow(path); err == nil {
			f, err = perfdata.OpenReader(ctx, in, path, options)
		} else {
			err = diag.FileError("open recording", path, err).
				OrHint("write one to it: perf record -o - > %s", path)
		}
	} else {
		f, err = perfdata.OpenContext(ctx, path, options)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t = &About{File: path, Times: Times{Clock: "perf"}}
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		t.Bytes = st.Size()
	}
	for _, st := range f.Streams() {
		e := Event{Name: st.Schema.FullName()}
		if st.Label != e.Name {
			e.Alias = st.Label
		}
		for i := range st.Schema.Fields {
			if !strings.HasPrefix(st.Schema.Fields[i].Name, "common_") {
				e.Fields++
			}
		}
		t.Events = append(t.Events, e)
	}
	damage := eachEvent(f, func(e *event.Event) {
		if ctx.Err() != nil {
			return
		}
		t.take(e)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if damage != nil {
		t.Notes = append(t.Notes, damage.Error())
		t.Loss.EndedEarly = 1
	}
	t.Notes = append(t.Notes, f.Warnings()...)
	t.Loss.Add(f.Loss())
	t.describe(f.Info())
	return t, nil
}

// take adds a record to the counts.
func (t *About) take(e *event.Event) {
	switch e.Kind {
	case event.Lost:
		t.Loss.Lost += uint64(e.Count)
	case event.Throttle:
		t.Loss.Throttled++
	case event.Sample:
		x := &t.Events[e.Stream.Index]
		x.Samples++
		if x.Samples == 1 {
			x.Stacks = len(e.Stream.Members.Callchain(e)) > 0
		}
		for _, b := range []struct{ first, last *event.Time }{{&t.First, &t.Last}, {&x.First, &x.Last}} {
			if *b.first == 0 || e.Time < *b.first {
				*b.first = e.Time
			}
			*b.last = max(*b.last, e.Time)
		}
	}
}

// describe copies the description that the recording has of itself.
func (t *About) describe(in *perfdata.Info) {
	t.MadeBy, t.Host, t.Kernel, t.Arch, t.CPU = in.Version, in.Hostname, in.OSRelease, in.Arch, in.CPUDesc
	t.CPUs, t.Command = in.CPUsOnline, in.Cmdline
	if in.Pipe {
		t.Form = append(t.Form, "pipe")
	}
	if in.Directory {
		t.Form = append(t.Form, "directory")
	}
	if in.Compressed {
		t.Form = append(t.Form, "compressed")
	}
	if in.TraceDat != 0 {
		t.Form = append(t.Form, fmt.Sprintf("trace.dat version %d", in.TraceDat))
		// A trace.dat file describes all events of the machine, not only the
		// enabled ones.
		n := len(t.Events)
		t.Events = slices.DeleteFunc(t.Events, func(e Event) bool { return e.Samples == 0 })
		if n -= len(t.Events); n > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%d more events are described, and did not happen", n))
		}
	}
	if in.Clock.Set {
		t.Clock = clockName(in.Clock.ID)
	}
	if in.Clock.Wall.IsZero() || t.Last == 0 {
		return
	}
	wall := func(at event.Time) string {
		return in.Clock.Wall.Add(time.Duration(at - in.Clock.At)).Format(time.RFC3339Nano)
	}
	t.Begin, t.End = wall(t.First), wall(t.Last)
}

// Print writes the description as text.
func (t *About) Print(w *bufio.Writer) {
	line := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if len(parts) > 0 {
			fmt.Fprintf(w, "%-9s %s\n", name, strings.Join(parts, ", "))
		}
	}
	size, cpus := "", ""
	if t.Bytes > 0 {
		size = unit.Size(t.Bytes)
	}
	if t.CPUs > 0 {
		cpus = fmt.Sprintf("%d CPUs", t.CPUs)
	}
	made := t.MadeBy
	if made != "" && made[0] >= '0' && made[0] <= '9' {
		made = "perf " + made
	}
	line("recording", append([]string{plain.Line(t.File), size, made}, t.Form...)...)
	line("host", plain.Line(t.Host), plain.Line(t.Kernel), t.Arch, cpus, plain.Line(t.CPU))
	line("command", plain.Line(strings.Join(t.Command, " ")))
	if t.Last > 0 {
		line("time", t.Begin, unit.Duration(int64(t.Last-t.First)),
			fmt.Sprintf("%s to %s of the clock %s", secondsOf(t.First), secondsOf(t.Last), t.Clock))
	}
	var losses []string
	for _, c := range t.Loss.Counts() {
		if c.N > 0 {
			losses = append(losses, fmt.Sprintf("%d %s", c.N, strings.ReplaceAll(c.Name, "_", " ")))
		}
	}
	if losses == nil {
		losses = []string{"none"}
	}
	line("losses", losses...)
	for _, note := range t.Notes {
		line("note", plain.Line(note))
	}
	fmt.Fprintf(w, "\n%10s  event\n", "samples")
	for _, e := range t.Events {
		if e.Samples == 0 && e.Name == "software:dummy" {
			continue // perf opens it only for the records about tasks
		}
		name := plain.Line(e.Name)
		if e.Alias != "" {
			name += " (" + plain.Line(e.Alias) + ")"
		}
		if e.Stacks {
			name += ", with stacks"
		}
		fmt.Fprintf(w, "%10d  %s\n", e.Samples, name)
	}
	if len(t.Asks) > 0 {
		fmt.Fprintf(w, "\nppscript --input %s NAME\n    %s\n", plain.Line(t.File), strings.Join(t.Asks, " "))
	}
	if len(t.AsksOf) > 0 {
		fmt.Fprintf(w, "\nppscript --input %s NAME -e EVENT\n    %s\n", plain.Line(t.File),
			strings.Join(t.AsksOf, " "))
	}
}

// secondsOf formats a time in the form that --from and --to accept.
func secondsOf(t event.Time) string { return fmt.Sprintf("%d.%06d", t/1e9, t%1e9/1e3) }

// clockName returns the name of a clock from the man page of clock_gettime.
func clockName(id int32) string {
	switch id {
	case unix.CLOCK_REALTIME:
		return "CLOCK_REALTIME"
	case unix.CLOCK_MONOTONIC:
		return "CLOCK_MONOTONIC"
	case unix.CLOCK_MONOTONIC_RAW:
		return "CLOCK_MONOTONIC_RAW"
	case unix.CLOCK_BOOTTIME:
		return "CLOCK_BOOTTIME"
	case unix.CLOCK_TAI:
		return "CLOCK_TAI"
	}
	return fmt.Sprintf("clock %d", id)
}
