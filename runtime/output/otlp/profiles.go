package otlp

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// AppendProfiles appends an ExportProfilesServiceRequest with the samples of an interval:
// one profile with the numbers of samples, and one with their values if the stacks have
// values.
//
// Addresses are already resolved to names, as in files for pprof. Locations are also
// distinguished by names, since equal addresses of two processes may be different functions.
func AppendProfiles(dst []byte, s *result.Stacks, resource []Attribute, scope string,
	now time.Time) []byte {
	p := &profiles{
		texts: map[string]int32{}, mappings: map[mapping]int32{}, functions: map[[2]int32]int32{},
		locations: map[location]int32{}, stacks: map[string]int32{}, attributes: map[attribute]int32{},
	}
	p.begin()
	kinds := []kind{{"samples", "count", true}}
	if s.Value != "" {
		name := s.Value
		if s.Periods && s.Unit.Base == "ns" {
			name = "cpu" // as in files for pprof
		}
		kinds = append(kinds, kind{name, s.PprofUnit(), false})
	}
	end := s.Wall
	if end.IsZero() {
		end = now
	}
	length := uint64(max(s.End-s.Begin, 0))
	begin := uint64(end.UnixNano()) - length
	var bodies [][]byte
	for _, k := range kinds {
		var b []byte
		b = appendMessage(b, 1, p.valueType(k))
		for _, list := range [][]result.StackSample{s.Samples, s.Rest} {
			for i := range list {
				b = appendMessage(b, 2, func(dst []byte) []byte { return p.sample(dst, s, &list[i], k) })
			}
		}
		b = appendFixed(b, 3, begin)
		b = appendUint(b, 4, length)
		if n, sum := s.Total(); s.Periods && s.Value != "" && n > 0 {
			b = appendMessage(b, 5, p.valueType(kinds[1]))
			b = appendUint(b, 6, uint64((sum+int64(n)/2)/int64(n))) // the mean, since periods vary
		}
		for _, c := range s.Loss.Counts() {
			if c.N > 0 {
				at := p.attribute("ppscript.loss."+c.Name, event.UintOf(c.N), event.UintOf(c.N).String())
				b = appendPacked(b, 11, []int32{at})
			}
		}
		if c := s.Cost; c.Sampled() { // the numbers are estimates: says what was left out
			for _, x := range []struct {
				name string
				v    float64
			}{{"events", c.Events}, {"time", c.Time}, {"budget", c.Budget}} {
				v := event.FloatOf(x.v)
				at := p.attribute("ppscript.estimated."+x.name, v, v.String())
				b = appendPacked(b, 11, []int32{at})
			}
		}
		bodies = append(bodies, b)
	}
	dst = appendMessage(dst, 1, func(dst []byte) []byte { // ResourceProfiles
		dst = appendResource(dst, resource)
		return appendMessage(dst, 2, func(dst []byte) []byte { // ScopeProfiles
			dst = appendScope(dst, scope)
			for _, b := range bodies {
				dst = appendMessage(dst, 2, func(dst []byte) []byte { return append(dst, b...) })
			}
			return dst
		})
	})
	return appendMessage(dst, 2, p.dictionary)
}

// A kind describes the numbers of a profile: their name and unit.
type kind struct {
	name, unit string
	count      bool
}

// profiles is the dictionary: tables of the texts, stacks and so on that samples refer to by
// number. Number 0 of each table is empty.
type profiles struct {
	texts      map[string]int32
	mappings   map[mapping]int32
	functions  map[[2]int32]int32 // by name and file
	locations  map[location]int32
	stacks     map[string]int32
	attributes map[attribute]int32

	table [8][]byte // encoded messages, by the field of the dictionary
	sizes [8]int32
	line  []int32
}

// The fields of the dictionary.
const (
	mappingTable   = 1
	locationTable  = 2
	functionTable  = 3
	linkTable      = 4
	stringTable    = 5
	attributeTable = 6
	stackTable     = 7
)

type mapping struct {
	dso, build string
	segment    result.Segment
}

type location struct {
	mapping, function int32
	addr              uint64
	line              int
}

type attribute struct{ key, value string }

// begin adds an empty entry 0 to each table.
func (p *profiles) begin() {
	for f := mappingTable; f <= stackTable; f++ {
		p.add(f, func(dst []byte) []byte { return dst })
	}
	p.texts[""], p.stacks[""] = 0, 0
}

// add adds a row to a table, and returns its number.
func (p *profiles) add(table int, fill func(dst []byte) []byte) int32 {
	p.table[table] = appendMessage(p.table[table], protowire.Number(table), fill)
	p.sizes[table]++
	return p.sizes[table] - 1
}

func (p *profiles) dictionary(dst []byte) []byte {
	for _, t := range p.table {
		dst = append(dst, t...)
	}
	return dst
}

func (p *profiles) text(s string) int32 {
	if i, ok := p.texts[s]; ok {
		return i
	}
	i := p.add(stringTable, func(dst []byte) []byte { return append(dst, plain.Line(s)...) })
	p.texts[s] = i
	return i
}

func (p *profiles) valueType(k kind) func(dst []byte) []byte {
	name, unit := p.text(k.name), p.text(k.unit)
	return func(dst []byte) []byte {
		return appendUint(appendUint(dst, 1, uint64(name)), 2, uint64(unit))
	}
}

// sample appends a Sample.
func (p *profiles) sample(dst []byte, s *result.Stacks, x *result.StackSample, k kind) []byte {
	dst = appendUint(dst, 1, uint64(p.stack(x.Frames)))
	attributes := p.line[:0]
	for i := range s.Keys {
		if i < len(x.Key) {
			name := s.Keys[i].Name
			if name == "comm" {
				name = "thread.name" // the name by OpenTelemetry's conventions
			}
			attributes = append(attributes, p.attribute(name, x.Key[i], x.Key[i].String()))
		}
	}
	if x.PID >= 0 {
		pid := event.IntOf(int64(x.PID))
		attributes = append(attributes, p.attribute("process.pid", pid, pid.String()))
	}
	if x.Cut {
		yes := event.StrOf("true")
		attributes = append(attributes, p.attribute("ppscript.stack.cut", yes, "true"))
	}
	dst = appendPacked(dst, 2, attributes)
	p.line = attributes[:0]
	v := int64(x.Count)
	if !k.count {
		v = x.Value
	}
	return appendPacked(dst, 4, []int64{v})
}

func (p *profiles) attribute(key string, v event.Value, text string) int32 {
	k := attribute{key, string(rune('0'+v.Kind)) + text}
	if i, ok := p.attributes[k]; ok {
		return i
	}
	name := p.text(key)
	i := p.add(attributeTable, func(dst []byte) []byte {
		return appendAny(appendUint(dst, 1, uint64(name)), 2, v, plain.Line(text))
	})
	p.attributes[k] = i
	return i
}

// stack returns the number of a stack, whose frames are innermost first.
func (p *profiles) stack(frames []*result.Frame) int32 {
	list := make([]int32, len(frames))
	key := make([]byte, 0, 4*len(frames))
	for i, f := range frames {
		list[i] = p.location(f)
		key = append(key, byte(list[i]), byte(list[i]>>8), byte(list[i]>>16), byte(list[i]>>24))
	}
	if i, ok := p.stacks[string(key)]; ok {
		return i
	}
	i := p.add(stackTable, func(dst []byte) []byte { return appendPacked(dst, 1, list) })
	p.stacks[string(key)] = i
	return i
}

// location returns the number of a frame's location. Inlined functions have their own
// frames, and so their own locations.
func (p *profiles) location(f *result.Frame) int32 {
	key := location{p.mapping(f), p.function(f), f.FileAddr, f.Line}
	if f.Segment == (result.Segment{}) {
		key.addr = f.Addr
	}
	if i, ok := p.locations[key]; ok {
		return i
	}
	i := p.add(locationTable, func(dst []byte) []byte {
		dst = appendUint(appendUint(dst, 1, uint64(key.mapping)), 2, key.addr)
		return appendMessage(dst, 3, func(dst []byte) []byte { // Line
			dst = appendUint(dst, 1, uint64(key.function))
			if f.Line > 0 {
				dst = appendUint(dst, 2, uint64(f.Line))
			}
			return dst
		})
	})
	p.locations[key] = i
	return i
}

func (p *profiles) function(f *result.Frame) int32 {
	key := [2]int32{p.text(f.Name()), p.text(f.File)}
	if i, ok := p.functions[key]; ok {
		return i
	}
	i := p.add(functionTable, func(dst []byte) []byte {
		dst = appendUint(dst, 1, uint64(key[0]))
		dst = appendUint(dst, 2, uint64(key[0]))
		return appendUint(dst, 3, uint64(key[1]))
	})
	p.functions[key] = i
	return i
}

func (p *profiles) mapping(f *result.Frame) int32 {
	if f.DSO == "" {
		return 0
	}
	key := mapping{f.DSO, f.BuildID, f.Segment}
	if i, ok := p.mappings[key]; ok {
		return i
	}
	name := p.text(f.DSO)
	var attributes []int32
	if f.BuildID != "" {
		attributes = append(attributes,
			p.attribute("process.executable.build_id.gnu", event.StrOf(f.BuildID), f.BuildID))
	}
	i := p.add(mappingTable, func(dst []byte) []byte {
		dst = appendUint(dst, 1, f.Segment.Addr)
		dst = appendUint(dst, 2, f.Segment.Addr+f.Segment.Size)
		dst = appendUint(dst, 3, f.Segment.Offset)
		dst = appendUint(dst, 4, uint64(name))
		return appendPacked(dst, 5, attributes)
	})
	p.mappings[key] = i
	return i
}
