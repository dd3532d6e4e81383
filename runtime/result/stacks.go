package result

import (
	"cmp"
	"iter"
	"path"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// Stacks has samples grouped by call stack.
type Stacks struct {
	Meta
	// Keys distinguish samples with the same stack: comm, unless the script
	// chose other keys.
	Keys    []Column
	Samples []StackSample
	// Value names the field that is added up in StackSample.Value, with the
	// unit Unit; "" if only samples are counted.
	Value string
	Unit  unit.Unit
	// Periods says that Value adds up the periods of the samples.
	Periods bool
	// KernelID is the build-id of the kernel, in hex; "" if unknown.
	KernelID string
	// Totals makes text output show the sum of all samples.
	Totals bool
	// Cut counts the samples whose stack lacks outer frames.
	Cut uint64
	// Unwound counts the samples whose user frames were found with unwind
	// tables.
	Unwound uint64
	// Rest has the stacks that Top removed, if Keep asks for them.
	Rest []StackSample
	// Omitted is the number of stacks that Top removed; OmittedCount and
	// OmittedValue are the sums of their Count and Value.
	Omitted      int
	OmittedCount uint64
	OmittedValue int64
}

// A StackSample is one stack with the number of its samples.
type StackSample struct {
	Key []event.Value // one cell for each of Stacks.Keys
	PID int32         // -1 if unknown, or if the samples are from several processes
	CallStack
	Count uint64
	Value int64 // sum, in base units
}

// A CallStack is a stack with names. It is the only form in which renderers and files get
// stacks.
type CallStack struct {
	Frames []*Frame // innermost first; shared between stacks
	Cut    bool     // outer frames are missing
}

// StackOf makes a complete stack of these frames.
func StackOf(frames ...*Frame) CallStack { return CallStack{Frames: frames} }

// Same reports whether two stacks have equal frames.
func (s CallStack) Same(o CallStack) bool {
	return s.Cut == o.Cut && slices.EqualFunc(s.Frames, o.Frames, func(a, b *Frame) bool { return *a == *b })
}

// A Frame is one function of a stack. A function that the compiler inlined has
// a frame of its own, which precedes its caller's frame and has the same
// address.
type Frame struct {
	Addr    uint64
	Symbol  string // "" if unknown
	Offset  uint64 // offset of Addr from the start of the symbol
	DSO     string // path of a file, [kernel.kallsyms], [module]; "" if unknown
	BuildID string // in hex; "" if unknown
	File    string // source file; "" if unknown
	Line    int
	Inline  bool
	Kernel  bool
	// FileAddr is the address in the symbol tables of DSO, and Segment the part
	// of DSO that contains it. Both are the same in every process; zero if DSO
	// is no file.
	FileAddr uint64
	Segment  Segment
}

// Unknown is shown for code without symbol and file, as in perf.
const Unknown = "[unknown]"

// KeysOf yields the keys of samples.
func KeysOf(samples []StackSample) iter.Seq[[]event.Value] {
	return func(yield func(key []event.Value) bool) {
		for i := range samples {
			if !yield(samples[i].Key) {
				return
			}
		}
	}
}

// Separator is the frame between the stack of the thread that ended a wait, which comes
// first, and the stack of the thread that waited.
var Separator = &Frame{Symbol: "--"}

// IsSeparator reports whether the frame is Separator or a copy of it.
func (f *Frame) IsSeparator() bool { return f.Addr == 0 && f.Symbol == Separator.Symbol }

// IsLabel reports whether the frame is only a text and no function: Separator, or
// a name.
func (f *Frame) IsLabel() bool {
	return f.Addr == 0 && f.FileAddr == 0 && f.DSO == "" && f.Symbol != "" && f.Symbol != "__other__"
}

// IsInterpreted reports whether the frame is a function of an interpreted language: it has a source
// file but no address. In text, the first column of its line, which has the address of other
// frames, is empty.
func (f *Frame) IsInterpreted() bool {
	return f.Addr == 0 && f.FileAddr == 0 && f.DSO != "" && (f.DSO == f.File || unknownFunctions[f.DSO])
}

// UnknownFunction returns the DSO for functions of a language without a source file: their names
// could not be read, or they are part of the interpreter.
func UnknownFunction(language string) string {
	if name := "[" + language + "]"; unknownFunctions[name] {
		return name
	}
	return "[interpreter]"
}

var unknownFunctions = map[string]bool{"[python]": true, "[ruby]": true, "[php]": true, "[interpreter]": true}

// Name returns one name for the frame: the symbol; else the file in brackets; else
// Unknown.
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

// A Segment is a mapped part of a file: its first address in the file's tables,
// its number of bytes, and its offset in the file.
type Segment struct{ Addr, Size, Offset uint64 }

// PprofUnit returns the unit of the values by its name in pprof, which other formats
// use, too.
func (s *Stacks) PprofUnit() string {
	switch s.Unit.Base {
	case "ns":
		return "nanoseconds"
	case "B", "bytes":
		return "bytes"
	}
	return "count"
}

// Weight returns the weight of a sample: its Value if the stacks have values,
// else its Count.
func (s *Stacks) Weight(x *StackSample) int64 {
	if s.Value != "" {
		return x.Value
	}
	return int64(x.Count)
}

// Total returns the number of samples and the sum of their values, including
// the stacks that Top removed.
func (s *Stacks) Total() (count uint64, value int64) {
	count, value = s.OmittedCount, s.OmittedValue
	for i := range s.Samples {
		count += s.Samples[i].Count
		value += s.Samples[i].Value
	}
	return count, value
}

// Sort orders the samples by weight, largest first. Samples of equal weight
// keep their order.
func (s *Stacks) Sort() {
	slices.SortStableFunc(s.Samples, func(a, b StackSample) int {
		return cmp.Compare(s.Weight(&b), s.Weight(&a))
	})
}

// Top keeps the first n stacks; the others are counted in Omitted, OmittedCount
// and OmittedValue.
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
