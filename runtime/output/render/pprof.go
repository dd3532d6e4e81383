package render

import (
	"io"

	"github.com/google/pprof/profile"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// This file writes samples by stack in pprof's format.
//
// Names are already resolved, so the mappings say that functions, and lines if
// known, are present: pprof then does not search for binaries. Equal addresses
// in two processes may be different functions, so locations are also
// distinguished by their names.

// pprof writes the samples as a gzipped protobuf. The first sample type is the
// number of samples; the second one, if the stacks have values, is the values.
func pprof(w io.Writer, s *result.Stacks) error {
	b := &pprofBuilder{
		p:         &profile.Profile{},
		mappings:  map[pprofFile]*profile.Mapping{},
		functions: map[[2]string]*profile.Function{},
		locations: map[pprofKey]*profile.Location{},
	}
	p := b.p
	p.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}}
	if s.Value != "" {
		value := &profile.ValueType{Type: s.Value, Unit: s.PprofUnit()}
		if s.Periods && s.Unit.Base == "ns" {
			value.Type = "cpu" // the name in Go's own profiles
		}
		p.SampleType = append(p.SampleType, value)
		p.DefaultSampleType = value.Type
		if n, sum := s.Total(); s.Periods && n > 0 {
			// Sampling at a frequency varies the period, so the profile has the
			// mean.
			p.PeriodType, p.Period = value, (sum+int64(n)/2)/int64(n)
		}
	}
	b.kernel = s.KernelID
	p.TimeNanos = s.Wall.UnixNano()
	if s.Wall.IsZero() {
		p.TimeNanos = 0
	} else if s.End > s.Begin {
		p.DurationNanos = int64(s.End - s.Begin)
		p.TimeNanos -= p.DurationNanos
	}
	if text := Remarks(&s.Meta); text != "" {
		p.Comments = append(p.Comments, text)
	}
	for i := range s.Samples {
		b.sample(s, &s.Samples[i])
	}
	if err := p.CheckValid(); err != nil {
		return &diag.Error{Op: "write", Subject: "pprof", Cause: err}
	}
	if err := p.Write(w); err != nil {
		return &diag.Error{Op: "write", Subject: "pprof", Cause: err}
	}
	return nil
}

type pprofBuilder struct {
	p         *profile.Profile
	kernel    string // build-id of the kernel
	mappings  map[pprofFile]*profile.Mapping
	functions map[[2]string]*profile.Function
	locations map[pprofKey]*profile.Location
}

// pprofKey identifies a location. If it has inlined functions, symbol and line
// are from the innermost one.
type pprofKey struct {
	mapping *profile.Mapping
	addr    uint64
	symbol  string
	line    int
}

func (b *pprofBuilder) sample(s *result.Stacks, x *result.StackSample) {
	sample := &profile.Sample{Value: []int64{int64(x.Count)}}
	if s.Value != "" {
		sample.Value = append(sample.Value, x.Value)
	}
	for i := 0; i < len(x.Frames); {
		// Inlined functions and their caller are one location.
		end := i
		for x.Frames[end].Inline && end+1 < len(x.Frames) && x.Frames[end+1].Addr == x.Frames[end].Addr {
			end++
		}
		sample.Location = append(sample.Location, b.location(x.Frames[i:end+1]))
		i = end + 1
	}
	if len(sample.Location) == 0 {
		sample.Location = append(sample.Location, b.location([]*result.Frame{{Symbol: "[no stack]"}}))
	}
	for k := range s.Keys {
		if k >= len(x.Key) {
			continue
		}
		name := s.Keys[k].Name
		if v := x.Key[k]; v.Numeric() {
			b.number(sample, name, v)
		} else if text := string(plain.Append(nil, v.String())); text != "" {
			if sample.Label == nil {
				sample.Label = map[string][]string{}
			}
			sample.Label[name] = []string{text}
		}
	}
	if x.PID >= 0 {
		b.number(sample, "pid", event.IntOf(int64(x.PID)))
	}
	b.p.Sample = append(b.p.Sample, sample)
}

func (b *pprofBuilder) number(sample *profile.Sample, name string, v event.Value) {
	if sample.NumLabel == nil {
		sample.NumLabel = map[string][]int64{}
	}
	sample.NumLabel[name] = []int64{v.Int()}
}

// location returns the location of frames with one address, innermost first.
func (b *pprofBuilder) location(frames []*result.Frame) *profile.Location {
	outer := frames[len(frames)-1]
	m := b.mapping(outer)
	key := pprofKey{m, b.address(m, outer), frames[0].Name(), frames[0].Line}
	if l := b.locations[key]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: m, Address: key.addr}
	for i := range frames {
		if frames[i].File != "" {
			m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = true, true, true
		}
		l.Line = append(l.Line, profile.Line{Function: b.function(frames[i]), Line: int64(frames[i].Line)})
	}
	b.locations[key] = l
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *pprofBuilder) function(f *result.Frame) *profile.Function {
	key := [2]string{f.Name(), f.File}
	fn := b.functions[key]
	if fn == nil {
		name := string(plain.Append(nil, key[0]))
		fn = &profile.Function{
			ID:         uint64(len(b.p.Function) + 1),
			Name:       name,
			SystemName: name,
			Filename:   string(plain.Append(nil, f.File)),
		}
		b.functions[key] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	return fn
}

// pprofFile identifies a mapping. Addresses are relative to files, so all
// processes with a program or library share its mapping.
type pprofFile struct {
	dso, build string
	segment    result.Segment
}

func (b *pprofBuilder) mapping(f *result.Frame) *profile.Mapping {
	key := pprofFile{f.DSO, f.BuildID, f.Segment}
	if f.DSO == "[kernel.kallsyms]" {
		key.build = b.kernel
	}
	m := b.mappings[key]
	if m == nil {
		name := f.DSO
		if name == "" {
			name = "[unknown]"
		}
		m = &profile.Mapping{
			ID:           uint64(len(b.p.Mapping) + 1),
			File:         plain.Line(name),
			BuildID:      key.build,
			HasFunctions: true,
			Start:        f.Segment.Addr,
			Limit:        f.Segment.Addr + f.Segment.Size,
			Offset:       f.Segment.Offset,
		}
		b.mappings[key] = m
		b.p.Mapping = append(b.p.Mapping, m)
	}
	return m
}

// address returns the address of a frame in its mapping. The mapping of code without a file
// (of the kernel, of JIT compilers) is extended to include the address.
func (b *pprofBuilder) address(at *profile.Mapping, f *result.Frame) uint64 {
	if f.Segment != (result.Segment{}) || f.Addr == 0 {
		return f.FileAddr
	}
	const page = 4096
	if first := f.Addr &^ (page - 1); at.Limit == 0 || first < at.Start {
		at.Start = first
	}
	at.Limit = max(at.Limit, (f.Addr|(page-1))+1)
	return f.Addr
}
