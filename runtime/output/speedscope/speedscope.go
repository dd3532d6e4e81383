// Package speedscope writes samples by stack in the form of speedscope.app, a viewer that
// runs in a browser without a server: https://www.speedscope.app/file-format-schema.json.
//
// What the form has no place for: addresses, files of code and their build-ids, the kernel's
// mark, when a sample was taken. Numbers of more than 53 bits lose digits in the viewer.
package speedscope

import (
	"bufio"
	"encoding/json"
	"io"

	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// Options says what a file tells beside the stacks.
type Options struct {
	About string // of the recording: the command, the host
	// Keys are the frames in front of the outermost, which tell samples of one stack apart.
	Keys    func(s *result.Stacks, x *result.StackSample) []string
	Remarks string // what is missing, or estimated, "" if nothing
}

const (
	schema   = "https://www.speedscope.app/file-format-schema.json"
	exporter = "ppscript"
)

type file struct {
	Schema   string    `json:"$schema"`
	Name     string    `json:"name,omitempty"`
	Exporter string    `json:"exporter"`
	Active   int       `json:"activeProfileIndex"`
	Shared   shared    `json:"shared"`
	Profiles []profile `json:"profiles"`
}

type shared struct {
	Frames []frame `json:"frames"`
}

// A frame is a function, with a line if that is known.
type frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// A profile is the samples by one weight, outermost frame first.
type profile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int64 `json:"weights"`
}

// Write writes the samples: by their value, if they have one, then by their number. The
// order of the samples is that of the result, heaviest first; the viewer's time is the
// weight of those before.
func Write(w io.Writer, s *result.Stacks, o Options) error {
	f := file{Schema: schema, Name: text(s.Label()), Exporter: exporter}
	if o.About != "" {
		f.Name = text(o.About)
	}
	frames := frames{index: map[frame]int{}}
	samples := make([][]int, len(s.Samples))
	for i := range s.Samples {
		samples[i] = frames.of(s, &s.Samples[i], &o)
	}
	f.Shared.Frames = frames.list
	missing := ""
	if o.Remarks != "" {
		missing = " (" + o.Remarks + ")"
	}
	if s.Value != "" {
		p := profile{Name: text(s.Value) + missing, Unit: unitOf(s)}
		p.fill(samples, s, func(x *result.StackSample) int64 { return x.Value })
		f.Profiles = append(f.Profiles, p)
	}
	p := profile{Name: "samples" + missing, Unit: "none"}
	p.fill(samples, s, func(x *result.StackSample) int64 { return int64(x.Count) })
	f.Profiles = append(f.Profiles, p)

	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(&f)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return &diag.Error{Op: "write", Subject: "speedscope", Cause: err}
	}
	return nil
}

// fill gives each sample its weight. The viewer takes none below 0.
func (p *profile) fill(samples [][]int, s *result.Stacks, weight func(*result.StackSample) int64) {
	p.Type, p.Samples, p.Weights = "sampled", [][]int{}, []int64{}
	for i := range s.Samples {
		if n := weight(&s.Samples[i]); n > 0 {
			p.Samples = append(p.Samples, samples[i])
			p.Weights = append(p.Weights, n)
			p.End += n
		}
	}
}

// unitOf is the unit of values in the viewer's words.
func unitOf(s *result.Stacks) string {
	switch s.Unit.Base {
	case "ns":
		return "nanoseconds"
	case "B", "bytes":
		return "bytes"
	}
	return "none"
}

// frames gives functions their numbers.
type frames struct {
	list  []frame
	index map[frame]int
}

// of is the stack of a sample, outermost first: its keys, then its functions.
func (t *frames) of(s *result.Stacks, x *result.StackSample, o *Options) []int {
	stack := []int{}
	if o.Keys != nil {
		for _, k := range o.Keys(s, x) {
			stack = append(stack, t.number(frame{Name: text(k)}))
		}
	}
	for i := len(x.Frames) - 1; i >= 0; i-- {
		f := x.Frames[i]
		one := frame{Name: text(f.Name()), File: text(f.File), Line: f.Line}
		if f.File == "" {
			one.File, one.Line = text(f.DSO), 0
		}
		stack = append(stack, t.number(one))
	}
	if len(stack) == 0 {
		stack = append(stack, t.number(frame{Name: "[no stack]"}))
	}
	return stack
}

func (t *frames) number(f frame) int {
	n, known := t.index[f]
	if !known {
		n = len(t.list)
		t.index[f], t.list = n, append(t.list, f)
	}
	return n
}

// text shows characters that cannot be seen, and bytes that are none.
func text(s string) string { return string(plain.Append(nil, s)) }
