package result

import (
	"cmp"
	"iter"
	"path"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// Stacks is samples by call stack.
type Stacks struct {
	Meta
	// Keys tell samples of one stack apart: comm, unless the script chose
	// others.
	Keys    []Column
	Samples []StackSample
	// Value names the field that StackSample.Value adds up, "" if only
	// samples are counted; Unit is its unit.
	Value string
	Unit  unit.Unit
	// Periods says that Value adds up the periods of the samples.
	Periods bool
	// KernelID is the build-id of the kernel, in hex; "" if unknown.
	KernelID string
	// Totals has text show the sum of all samples.
	Totals bool
	// Cut counts the samples whose stack lacks outer frames.
	Cut uint64
	// Unwound counts the samples whose user part was found with unwind tables.
	Unwound uint64
	// Rest are the stacks that Top took away, if Keep asks for them.
	Rest []StackSample
	// Omitted counts the stacks that Top took away, OmittedCount and
	// OmittedValue add up theirs.
	Omitted      int
	OmittedCount uint64
	OmittedValue int64
}

// A StackSample is one stack with how often it was seen.
type StackSample struct {
	Key []event.Value // by Stacks.Keys
	PID int32         // -1 if unknown, or if several processes have it
	CallStack
	Count uint64
	Value int64 // sum, in base units
}

// A CallStack is a stack with names: the one form in which renderers and files get stacks.
type CallStack struct {
	Frames []*Frame // innermost first; shared between stacks
	Cut    bool     // outer frames are missing
}

// StackOf is a whole stack of these frames.
func StackOf(frames ...*Frame) CallStack { return CallStack{Frames: frames} }

// Same reports stacks that read the same.
func (s CallStack) Same(o CallStack) bool {
	return s.Cut == o.Cut && slices.EqualFunc(s.Frames, o.Frames, func(a, b *Frame) bool { return *a == *b })
}

// A Frame is one function of a stack. A function that the compiler merged into
// its caller is a frame of its own, in front of that of the caller and with
// the same address.
type Frame struct {
	Addr    uint64
	Symbol  string // "" if unknown
	Offset  uint64 // of the address from the start of the symbol
	DSO     string // file, [kernel.kallsyms], [module]; "" if unknown
	BuildID string // in hex; "" if unknown
	File    string // of the source; "" if unknown
	Line    int
	Inline  bool
	Kernel  bool
	// FileAddr is the address as DSO itself counts, and Segment the part of DSO
	// that it is in: the same in every process. Zero if DSO is no file.
	FileAddr uint64
	Segment  Segment
}

// Unknown stands for code that nobody knows, as in perf.
const Unknown = "[unknown]"

// KeysOf is the keys of samples, one after another.
func KeysOf(samples []StackSample) iter.Seq[[]event.Value] {
	return func(yield func(key []event.Value) bool) {
		for i := range samples {
			if !yield(samples[i].Key) {
				return
			}
		}
	}
}

// Separator stands between a stack and the stack above it, of the thread that ended a wait.
var Separator = &Frame{Symbol: "--"}

// IsSeparator reports that the frame is no function, but Separator or a copy of it.
func (f *Frame) IsSeparator() bool { return f.Addr == 0 && f.Symbol == Separator.Symbol }

// IsLabel reports that the frame is no function, but a text: Separator, or a name.
func (f *Frame) IsLabel() bool {
	return f.Addr == 0 && f.FileAddr == 0 && f.DSO == "" && f.Symbol != "" && f.Symbol != "__other__"
}

// IsInterpreted reports that the frame is a function that an interpreter runs: it has no address, but a file
// of its source. The first column of its line is empty.
func (f *Frame) IsInterpreted() bool {
	return f.Addr == 0 && f.FileAddr == 0 && f.DSO != "" && (f.DSO == f.File || unknownFunctions[f.DSO])
}

// UnknownFunction is the DSO of functions of a language that have no file of its source: their names could
// not be read, or they are of the interpreter itself.
func UnknownFunction(language string) string {
	if name := "[" + language + "]"; unknownFunctions[name] {
		return name
	}
	return "[interpreter]"
}

var unknownFunctions = map[string]bool{"[python]": true, "[ruby]": true, "[php]": true, "[interpreter]": true}

// Name is the frame where there is room for one name: the symbol, the file that has
// none for the address, Unknown.
func (f *Frame) Name() string {
	switch {
	case f.Symbol != "":
		return f.Symbol
	case len(f.DSO) > 0 && f.DSO[0] == '[':
		return f.DSO
	case f.DSO != "":
		return "[" + path.Base(f.DSO) + "]"
	}
	return Unknown
}

// A Segment is a part of a file that is mapped: its first address, as the file
// counts, the number of bytes, and where it is in the file.
type Segment struct{ Addr, Size, Offset uint64 }

// PprofUnit is the unit of the values in the words of pprof, which others took over.
func (s *Stacks) PprofUnit() string {
	switch s.Unit.Base {
	case "ns":
		return "nanoseconds"
	case "B", "bytes":
		return "bytes"
	}
	return "count"
}

// Weight is the weight of a sample: its value if there is one, else its count.
func (s *Stacks) Weight(x *StackSample) int64 {
	if s.Value != "" {
		return x.Value
	}
	return int64(x.Count)
}

// Total is the number of samples, and the sum of their values, with those that
// Top took away.
func (s *Stacks) Total() (count uint64, value int64) {
	count, value = s.OmittedCount, s.OmittedValue
	for i := range s.Samples {
		count += s.Samples[i].Count
		value += s.Samples[i].Value
	}
	return count, value
}

// Sort orders the samples by weight, largest first. Equal ones keep their
// order.
func (s *Stacks) Sort() {
	slices.SortStableFunc(s.Samples, func(a, b StackSample) int {
		return cmp.Compare(s.Weight(&b), s.Weight(&a))
	})
}

// Top keeps the first n stacks; the others are only counted.
func (s *Stacks) Top(n int) {
	n = max(n, 0)
	if n >= len(s.Samples) {
		return
	}
	s.Omitted += len(s.Samples) - n
	if s.Keep {
		s.Rest = slices.Clone(s.Samples[n:])
	}
	for _, x := range s.Samples[n:] {
		s.OmittedCount += x.Count
		s.OmittedValue += x.Value
	}
	clear(s.Samples[n:])
	s.Samples = s.Samples[:n]
}
