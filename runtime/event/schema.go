package event

import (
	"fmt"
	"strings"
	"sync"
)

// Kind says how a field's value is read: as a number, a text, a list.
type Kind uint8

const (
	Int     Kind = iota // an integer of 1, 2, 4 or 8 bytes; Field.Signed tells the sign
	Str                 // text: a char array, NUL-terminated inside its size
	Array               // a sequence of integers of Field.Elem bytes each
	Bitmask             // a sequence of longs, bit n set means member n
	Float               // an IEEE double; computed values only
	Bytes               // anything else: shown as hex
)

// Place says where a field's bytes are.
type Place uint8

const (
	// InRaw is Raw[Offset:Offset+Size].
	InRaw Place = iota
	// DataLoc is __data_loc: a u32 at Offset holds offset | length<<16, the
	// offset counted from the start of Raw.
	DataLoc
	// RelLoc is __rel_loc: as DataLoc, the offset counted from the end of
	// the u32 itself.
	RelLoc
	// InFact is a member of the sample, not of Raw; Field.Fact names it.
	InFact
	// InSlot is Joint.Slots[Offset]: a computed value (let, join, fold).
	InSlot
)

// Fact names a member of a sample that every source can deliver.
type Fact uint8

const (
	NoFact Fact = iota
	FactTime
	FactPID
	FactTID
	FactCPU
	FactPeriod
	FactAddr
	FactIP
	FactID
	FactComm // resolved by runtime/task, not carried by the record
	FactCgroup
	FactWeight
	FactCallchain
	FactDelay // of a pair: from its start to its end
	// FactStack is a copy of the top of the user stack, for arguments that
	// lie there. It has no number.
	FactStack
	// Of a memory access: where its data came from (union perf_mem_data_src),
	// and its physical address. How long it took is its weight.
	FactDataSrc
	FactPhysAddr
	// FactMode is the mode of the CPU when the sample was taken, by the header
	// of its record: PERF_RECORD_MISC_KERNEL (1) to _GUEST_USER (5).
	FactMode
	// Sizes of the pages that hold addr and ip, in bytes.
	FactDataPage
	FactCodePage
)

// Facts of the moment of the event that samples do not carry: programs in the
// kernel see them (package bpf). The records of tracepoints tell the first two.
const (
	FactIRQsOff     Fact = 48 + iota // interrupts are disabled where the event happened: 0 or 1
	FactNeedResched                  // the running task shall give way: 0 or 1
	FactNrRunning                    // tasks that run or want to run on the CPU
	FactSchedPolicy                  // of the running task, SCHED_*
	FactPrio                         // of the running task, 0 to 139
	endOfMomentFacts
)

// OfMoment reports that a fact is one of the moment.
func (f Fact) OfMoment() bool { return f >= FactIRQsOff && f < endOfMomentFacts }

// Facts of probes.
const (
	// FactReg + n is register n at the moment of the event, by the kernel's
	// numbers (enum perf_event_x86_regs, perf_event_arm_regs).
	FactReg Fact = 64
	// FactArg + n is value n that Schema.Arg or Schema.ArgText computes from
	// the facts in Field.Uses.
	FactArg Fact = 128
)

// Unit names the quantity that a number measures. Package unit prints it.
type Unit uint8

const (
	NoUnit   Unit = iota
	Nanos         // a duration
	Moment        // a Time
	SizeB         // bytes
	Percent       // 0..100
	CountOf       // a number of things
	AddressU      // an address, shown in hex
)

// A Field is one named value of a schema.
type Field struct {
	Name   string
	Type   string // as declared in C, "char comm[16]" without the name
	Kind   Kind
	Place  Place
	Fact   Fact
	Unit   Unit
	Signed bool
	Offset int
	Size   int // bytes at Offset; for DataLoc and RelLoc the size of the u32
	Elem   int // bytes of one element of an Array or Bitmask
	// Uses lists the other facts that a computed fact (FactArg) needs.
	Uses []Fact
}

// A Schema describes the events of one kind: where each field lies, and how
// the kernel prints them. It does not change once a source delivers events.
type Schema struct {
	System string // "sched"; "software" for software events
	Name   string // "sched_switch"
	ID     uint64 // the tracepoint's id, or attr.config
	Type   uint32 // perf attr.type
	Fields []Field
	// PrintFmt is the format's own text, empty where there is none.
	PrintFmt string
	// Size is the fixed part of Raw in bytes: a shorter record is truncated.
	Size int

	// Text appends the event's fields as the kernel would print them. Nil
	// means "name=value" for each field.
	Text func(dst []byte, e *Event) []byte
	// Symbolic maps a field's values to names, from the print fmt; nil if
	// the field has no table.
	Symbolic func(field string) *Symbols
	// SymbolicOf names a field's value in an event as the kernel prints it,
	// also where the print fmt chooses between tables (kvm_exit has one per
	// vendor); false if the print fmt gives the field no name. Nil means
	// Symbolic.
	SymbolicOf func(field string, e *Event) (string, bool)
	// Arg computes the fact FactArg + n of an event as a number, ArgText as
	// text: arguments of probes. False if the event does not tell. Both may
	// read the memory of the process that the event is about, now.
	Arg     func(e *Event, n int) (uint64, bool)
	ArgText func(e *Event, n int) (string, bool)

	once  sync.Once
	index map[string]int
}

// FullName is "system:name".
func (s *Schema) FullName() string {
	if s.System == "" || s.System == "fold" {
		return s.Name // a fold's events have the name that its author gave them
	}
	return s.System + ":" + s.Name
}

// Field returns the field of that name, the record's own or a sample fact.
// An own field hides a fact of the same name.
func (s *Schema) Field(name string) (*Field, bool) {
	s.once.Do(func() {
		s.index = make(map[string]int, len(s.Fields))
		for i := range s.Fields {
			if _, dup := s.index[s.Fields[i].Name]; !dup {
				s.index[s.Fields[i].Name] = i
			}
		}
	})
	if i, ok := s.index[name]; ok {
		return &s.Fields[i], true
	}
	f, ok := facts[name]
	return f, ok
}

// Names lists the names that Field accepts: own fields first, then facts.
func (s *Schema) Names() []string {
	var names []string
	for i := range s.Fields {
		names = append(names, s.Fields[i].Name)
	}
	for _, f := range factList {
		if _, own := s.index[f.Name]; !own {
			names = append(names, f.Name)
		}
	}
	return names
}

// facts are the fields that every schema has. The names with an underscore
// are perf-prof's spelling; the plain ones give way to the record's own
// fields, so that e.pid of sched_wakeup is the woken task.
var factList = []Field{
	{Name: "time", Type: "u64", Fact: FactTime, Unit: Moment, Size: 8, Signed: true},
	{Name: "pid", Type: "int", Fact: FactPID, Size: 4, Signed: true},
	{Name: "tid", Type: "int", Fact: FactTID, Size: 4, Signed: true},
	{Name: "cpu", Type: "int", Fact: FactCPU, Size: 4, Signed: true},
	{Name: "comm", Type: "char[]", Kind: Str, Fact: FactComm, Size: 16},
	{Name: "period", Type: "u64", Fact: FactPeriod, Unit: CountOf, Size: 8},
	{Name: "addr", Type: "u64", Fact: FactAddr, Unit: AddressU, Size: 8},
	{Name: "ip", Type: "u64", Fact: FactIP, Unit: AddressU, Size: 8},
	{Name: "weight", Type: "u64", Fact: FactWeight, Unit: CountOf, Size: 8},
	{Name: "data_src", Type: "u64", Fact: FactDataSrc, Size: 8},
	{Name: "phys_addr", Type: "u64", Fact: FactPhysAddr, Unit: AddressU, Size: 8},
	{Name: "cpumode", Type: "u32", Fact: FactMode, Size: 4},
	{Name: "cgroup", Type: "u64", Fact: FactCgroup, Size: 8},
	{Name: "data_page_size", Type: "u64", Fact: FactDataPage, Unit: SizeB, Size: 8},
	{Name: "code_page_size", Type: "u64", Fact: FactCodePage, Unit: SizeB, Size: 8},
	{Name: "stack", Type: "u32", Fact: FactCallchain, Size: 4},
	{Name: "irqs_disabled", Type: "int", Fact: FactIRQsOff, Size: 4, Signed: true},
	{Name: "tif_need_resched", Type: "int", Fact: FactNeedResched, Size: 4, Signed: true},
	{Name: "nr_running", Type: "u32", Fact: FactNrRunning, Size: 4},
	{Name: "sched_policy", Type: "int", Fact: FactSchedPolicy, Size: 4, Signed: true},
	{Name: "prio", Type: "int", Fact: FactPrio, Size: 4, Signed: true},
	{Name: "_time", Type: "u64", Fact: FactTime, Unit: Moment, Size: 8, Signed: true},
	{Name: "_pid", Type: "int", Fact: FactPID, Size: 4, Signed: true},
	{Name: "_tid", Type: "int", Fact: FactTID, Size: 4, Signed: true},
	{Name: "_cpu", Type: "int", Fact: FactCPU, Size: 4, Signed: true},
	{Name: "_comm", Type: "char[]", Kind: Str, Fact: FactComm, Size: 16},
	{Name: "_period", Type: "u64", Fact: FactPeriod, Unit: CountOf, Size: 8},
}

var facts = func() map[string]*Field {
	m := make(map[string]*Field, len(factList))
	for i := range factList {
		factList[i].Place = InFact
		m[factList[i].Name] = &factList[i]
	}
	return m
}()

// BoolType is the Type of a computed field whose values are true or false: its
// Kind is Int, like that of C's.
const BoolType = "bool"

// StackName is the name of an event's stack among its fields.
const StackName = "stack"

// Stack reports that the field's numbers stand for call stacks: the fact of a
// sample, or a field stack or NAME_stack of an event made here.
func (f *Field) Stack() bool {
	switch f.Place {
	case InFact:
		return f.Fact == FactCallchain
	case InSlot:
		return f.Kind == Int && (f.Name == StackName || strings.HasSuffix(f.Name, "_"+StackName))
	}
	return false
}

func (f *Field) String() string { return fmt.Sprintf("%s %s", f.Type, f.Name) }

// Symbols maps numbers to names, as __print_symbolic and __print_flags do.
type Symbols struct {
	Names map[uint64]string
	// Flags says that the names are bits, joined by Delim.
	Flags bool
	Delim string
	// Order keeps the order of the print fmt, which decides between
	// overlapping flags.
	Order []uint64
}

// Lookup returns the name of v.
func (s *Symbols) Lookup(v uint64) (string, bool) {
	if s == nil {
		return "", false
	}
	n, ok := s.Names[v]
	return n, ok
}
