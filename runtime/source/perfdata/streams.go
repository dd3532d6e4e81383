package perfdata

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/text/diag"
)

// This file makes streams from the attrs of a recording, with their ids, names
// and schemas.

// An attr is one event of the recording.
type attr struct {
	unix.PerfEventAttr
	ids  []uint64
	name string // from EVENT_UPDATE
	// counter says that the event itself was never sampled, see counted.go.
	counter bool
}

// A desc is an entry of EVENT_DESC.
type desc struct {
	name string
	ids  []uint64
}

// parseAttr parses a perf_event_attr of any size: older ones are shorter, and
// newer ones have additional members at the end, which are not needed for
// decoding.
func parseAttr(b []byte) (a attr, err error) {
	if len(b) < minAttrSize {
		return a, fmt.Errorf("attr: got %d bytes, want at least %d", len(b), minAttrSize)
	}
	var whole [256]byte
	copy(whole[:], b)
	if _, err := binary.Decode(whole[:], le, &a.PerfEventAttr); err != nil {
		return a, err
	}
	if n := int(a.Size); n != 0 && n < minAttrSize {
		return a, fmt.Errorf("attr: size: got %d, want at least %d", n, minAttrSize)
	}
	return a, nil
}

// idPlace returns the sample members that determine the offset of the id in
// samples. The streams of a recording can be distinguished only if it is equal
// for all attrs.
func (a *attr) idPlace() (bits uint64) {
	switch {
	case a.Sample_type&unix.PERF_SAMPLE_IDENTIFIER != 0:
		return unix.PERF_SAMPLE_IDENTIFIER
	case a.Sample_type&unix.PERF_SAMPLE_ID != 0:
		return a.Sample_type & (unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
			unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_ID)
	}
	return 0
}

// openStreams makes the streams. It is called once, when all attrs are known.
func (f *File) openStreams() error {
	if len(f.attrs) == 0 {
		return f.bad("no events: the recording describes none").
			WithHint("record again; the file's head is damaged or was never written")
	}
	f.nameAttrs()
	f.splitCounters()
	layouts := map[perf.Format]*perf.Layout{}
	schemas := map[schemaKey]*event.Schema{}
	for i := range f.attrs {
		a := &f.attrs[i]
		if a.idPlace() != f.attrs[0].idPlace() {
			return f.bad("events %s and %s: samples cannot be told apart: their ids are in different places",
				f.attrs[0].name, a.name).WithHint("record with one perf command, not two files joined")
		}
		format := perf.FormatOf(&a.PerfEventAttr)
		l := layouts[format]
		if l == nil {
			l = perf.NewLayout(format)
			layouts[format] = l
		}
		if i == 0 {
			f.common = l
			f.dec = perf.NewDecoder(l)
		}
		s, err := f.schema(a, schemas)
		if err != nil {
			return err
		}
		if a.name == "" {
			a.name = s.FullName()
		}
		st := &event.Stream{Index: i, Schema: s, Label: a.name, Members: a.members(l)}
		f.streams = append(f.streams, st)
		for _, id := range a.ids {
			f.dec.Add(id, st, l)
		}
		if len(a.ids) == 0 {
			f.dec.Add(0, st, l)
		}
		if a.Bits&unix.PerfBitUseClockID != 0 {
			f.info.Clock.Set, f.info.Clock.ID = true, a.Clockid
		}
	}
	return nil
}

// nameAttrs sets the name of each attr, and its ids if it has none, from the
// EVENT_DESC entry with a common id, or else from the entry with the same
// index.
func (h *head) nameAttrs() {
	byID := map[uint64]*desc{}
	for i := range h.descs {
		for _, id := range h.descs[i].ids {
			byID[id] = &h.descs[i]
		}
	}
	for i := range h.attrs {
		a := &h.attrs[i]
		var d *desc
		if len(a.ids) > 0 {
			d = byID[a.ids[0]]
		} else if len(h.descs) == len(h.attrs) {
			d = &h.descs[i]
			a.ids = d.ids
		}
		if d != nil && a.name == "" {
			a.name = d.name
		}
	}
}

type schemaKey struct {
	typ    uint32
	config uint64
	name   string
	bare   bool
}

// bare reports that the samples of a tracepoint do not have its record, and so
// no fields.
func (a *attr) bare() bool {
	return a.Type == unix.PERF_TYPE_TRACEPOINT && a.Sample_type&unix.PERF_SAMPLE_RAW == 0
}

// schema finds the schema of an attr. The schemas of tracepoints are in the
// tracing data; other events have only sample members.
func (f *File) schema(a *attr, seen map[schemaKey]*event.Schema) (*event.Schema, error) {
	key := schemaKey{typ: a.Type, config: a.Config}
	if a.Type != unix.PERF_TYPE_TRACEPOINT {
		key.name = a.name
	}
	key.bare = a.bare()
	if s := seen[key]; s != nil {
		return s, nil
	}
	s, err := f.newSchema(a)
	if err == nil && a.bare() {
		if a.counter {
			f.warn(
				"%s: was counted, not sampled: it has the sample members of its group's first event, and no fields of its own",
				s.FullName())
		}
		s = &event.Schema{System: s.System, Name: s.Name, Type: s.Type, ID: s.ID}
	}
	if err == nil {
		seen[key] = s
	}
	return s, err
}

func (f *File) newSchema(a *attr) (*event.Schema, error) {
	if a.Type != unix.PERF_TYPE_TRACEPOINT {
		return plainSchema(a), nil
	}
	if t := f.formatOf(a.Config); t != nil {
		s, err := f.kernel().ParseFormat(t.system, []byte(t.text))
		if err == nil {
			return s, nil
		}
		// Other events are not affected.
		f.warn("%v: its fields are unknown", err)
		return fieldless(a), nil
	}
	if f.opt.Formats != nil {
		if s := f.opt.Formats(a.Config); s != nil && (a.name == "" || a.name == s.FullName()) {
			f.warn("format of %s: not in the recording, taken from this kernel", s.FullName())
			return s, nil
		}
	}
	s := fieldless(a)
	f.warn("format of %s: not in the recording: its fields are unknown", s.FullName())
	return s, nil
}

// fieldless returns the schema of a tracepoint whose format is unknown.
func fieldless(a *attr) *event.Schema {
	s := &event.Schema{Name: fmt.Sprintf("tracepoint-%d", a.Config), Type: a.Type, ID: a.Config}
	if sys, name, ok := strings.Cut(a.name, ":"); ok {
		s.System, s.Name = sys, name
	}
	return s
}

// kernel returns the options for rendering events of the recorded kernel. They
// are empty for recordings of perf, which have no symbols.
func (h *head) kernel() *tracefs.Options {
	if h.options == nil {
		h.options = tracefs.Recorded(h.info.Kallsyms, h.info.Printk)
	}
	return h.options
}

// formatOf returns the format of the tracepoint with an id; nil if the recording has
// none. Only trace-cmd records events of the kernel's own tracers.
func (h *head) formatOf(id uint64) *format {
	if h.tracing == nil {
		return nil
	}
	if h.byID == nil {
		h.byID = make(map[uint64]*format, len(h.tracing.formats))
		for i := range h.tracing.formats {
			t := &h.tracing.formats[i]
			id := formatID(t.text)
			if _, seen := h.byID[id]; !seen && (t.system != "ftrace" || h.info.TraceDat != 0) {
				h.byID[id] = t
			}
		}
	}
	return h.byID[id]
}

// bad makes the error of a damaged or foreign recording.
func (h *head) bad(format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Run, "read recording", h.name, format, args...)
}

// warn adds a warning for the user; reading continues. Warnings after the first
// maxWarnings are dropped.
func (h *head) warn(format string, args ...any) {
	const maxWarnings = 20
	if len(h.warnings) < maxWarnings {
		h.warnings = append(h.warnings, fmt.Sprintf(format, args...))
	}
}
