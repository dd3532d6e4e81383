package eventtest

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// A Capture is events written down as text, for tests that are read more
// often than they are run:
//
//	sched:sched_switch prev_pid:s32 next_pid:s32 prev_comm:str
//	irq:softirq_entry vec:u32
//	1us   0 10 sched_switch prev_pid=10 next_pid=20 prev_comm=bash
//	2.5us 0 20 softirq_entry vec=3
//	3us   1 lost 7
//
// A line with a colon in its first word declares an event: its name and its
// fields, each of type s8 to s64, u8 to u64, ns (a duration) or str (16 bytes).
// Another line is an event: the time, the CPU, the thread, the event's name
// (which may be left out if only one is declared) and its fields; a field that
// is not given is zero. Events lost in a CPU's ring are "lost" and their
// number. Empty lines and lines that begin with # are ignored.
type Capture struct {
	Schemas []*event.Schema
	Streams []*event.Stream // one for each schema
	Events  []event.Event   // in the order of the text; Ring is the CPU
}

// ParseText reads a Capture. The error names the line.
func ParseText(text string) (*Capture, error) {
	c := &Capture{}
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		var err error
		if strings.Contains(words[0], ":") {
			err = c.declare(words)
		} else {
			err = c.add(words)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return c, nil
}

const textBytes = 16

func (c *Capture) declare(words []string) error {
	system, name, _ := strings.Cut(words[0], ":")
	s := &event.Schema{System: system, Name: name, ID: uint64(len(c.Schemas) + 1)}
	for _, w := range words[1:] {
		field, typ, ok := strings.Cut(w, ":")
		f := event.Field{Name: field, Type: typ, Offset: s.Size}
		switch {
		case !ok:
			return fmt.Errorf("field %s: no type", w)
		case typ == "str":
			f.Kind, f.Size = event.Str, textBytes
		case typ == "ns":
			f.Size, f.Unit, f.Signed = 8, event.Nanos, true
		default:
			bits, err := strconv.Atoi(typ[min(1, len(typ)):])
			if err != nil || typ[0] != 's' && typ[0] != 'u' || bits%8 != 0 || bits&(bits-1) != 0 ||
				bits < 8 || bits > 64 {
				return fmt.Errorf("field %s: got type %s, want s8 to s64, u8 to u64, ns or str", field, typ)
			}
			f.Size, f.Signed = bits/8, typ[0] == 's'
		}
		s.Size += f.Size
		s.Fields = append(s.Fields, f)
	}
	c.Schemas = append(c.Schemas, s)
	c.Streams = append(c.Streams, &event.Stream{Index: len(c.Streams), Schema: s, Label: s.FullName()})
	return nil
}

func (c *Capture) add(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("got %d words, want time, cpu, tid", len(words))
	}
	at, err := unit.ParseDuration(words[0], 1)
	if err != nil {
		return err
	}
	cpu, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return fmt.Errorf("cpu: got %s, want a number", words[1])
	}
	e := event.Event{Time: event.Time(at), CPU: int32(cpu), Ring: int32(cpu), Kind: event.Sample}
	if words[2] == "lost" && len(words) == 4 {
		n, err := strconv.ParseUint(words[3], 10, 32)
		e.Kind, e.Count, e.PID, e.TID = event.Lost, uint32(n), -1, -1
		c.Events = append(c.Events, e)
		return err
	}
	tid, err := strconv.ParseInt(words[2], 10, 32)
	if err != nil {
		return fmt.Errorf("tid: got %s, want a number", words[2])
	}
	e.PID, e.TID = int32(tid), int32(tid)
	words = words[3:]
	if e.Stream, words, err = c.stream(words); err != nil {
		return err
	}
	e.Raw = make([]byte, e.Stream.Schema.Size)
	for _, w := range words {
		if err := setField(&e, w); err != nil {
			return err
		}
	}
	c.Events = append(c.Events, e)
	return nil
}

// stream finds the event that a line names.
func (c *Capture) stream(words []string) (*event.Stream, []string, error) {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		if len(c.Streams) != 1 {
			return nil, nil, fmt.Errorf("%d events are declared: name one", len(c.Streams))
		}
		return c.Streams[0], words, nil
	}
	for _, st := range c.Streams {
		if st.Schema.Name == words[0] {
			return st, words[1:], nil
		}
	}
	return nil, nil, fmt.Errorf("event %s is not declared", words[0])
}

func setField(e *event.Event, word string) error {
	name, text, ok := strings.Cut(word, "=")
	f, known := e.Stream.Schema.Field(name)
	if !ok || !known || f.Place != event.InRaw {
		return fmt.Errorf("got %s, want field=value", word)
	}
	b := e.Raw[f.Offset : f.Offset+f.Size]
	if f.Kind == event.Str {
		if copy(b, text) < len(text) {
			return fmt.Errorf("%s: longer than %d bytes", name, f.Size)
		}
		return nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if u, uerr := strconv.ParseUint(text, 0, 64); err != nil && uerr == nil && !f.Signed {
		n, err = int64(u), nil
	}
	if f.Unit == event.Nanos {
		n, err = unit.ParseDuration(text, 1)
	}
	if err != nil {
		return fmt.Errorf("%s: got %s, want a number", name, text)
	}
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], uint64(n))
	copy(b, all[:])
	if back, _ := event.LoadInt(b, f.Signed); back != n {
		return fmt.Errorf("%s: %s does not fit %s", name, text, f.Type)
	}
	return nil
}

// Find lists the schemas of an event by its name, as a plan's catalog does.
func (c *Capture) Find(system, name string) []*event.Schema {
	var found []*event.Schema
	for _, s := range c.Schemas {
		if s.System == system && s.Name == name {
			found = append(found, s)
		}
	}
	return found
}
