package event

import (
	"fmt"
	"strings"
	"sync"
)

// Kind says how a field's value is read: as a number, a text, a list.
type Kind uint8

const (
	Int     Kind = iota // an integer of 1, 2, 4 or 8 bytes, signed if Field.Signed
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
	// InMember is a member of the sample, not of Raw; Field.Member names it.
	InMember
	// InSlot is Derived.Slots[Offset]: a computed value (let, join, fold).
	InSlot
)

// Member is a member of a sample: a value that does not depend on the kind of
// event.
type Member uint16

const (
	NoMember Member = iota
	MemberTime
	MemberPID
	MemberTID
	MemberCPU
	MemberPeriod
	MemberAddr
	MemberIP
	MemberID
	MemberComm // resolved by runtime/target/task, not carried by the record
	MemberCgroup
	MemberWeight
	MemberCallchain
	MemberDelay // of a pair: from its start to its end
	// MemberStack is a copy of the top of the user stack, for arguments that
	// lie there. It cannot be read as a number.
	MemberStack
	// Members of a memory access: the level of memory that the data came from
	// (union perf_mem_data_src), and the physical address. MemberWeight is its
	// duration.
	MemberDataSrc
	MemberPhysAddr
	// MemberMode is the mode of the CPU when the sample was taken, from the
	// header of its record: PERF_RECORD_MISC_KERNEL (1) to _GUEST_USER (5).
	MemberMode
	// Sizes in bytes of the pages that hold addr and ip.
	MemberDataPage
	MemberCodePage
	// Texts that runtime/target/cgroup finds for MemberCgroup: the path of the cgroup, the
	// ids of the container and the pod, the systemd unit.
	MemberCgroupPath
	MemberContainer
	MemberPod
	MemberUnit
	// MemberCommNoDigit is the name of a thread without its trailing digits.
	MemberCommNoDigit
)

// Context members: samples do not carry them, programs in the kernel read them
// when the event happens (package bpf). The records of tracepoints hold the
// first two.
const (
	MemberIRQsOff     Member = 48 + iota // interrupts are disabled where the event happened: 0 or 1
	MemberNeedResched                    // the running task is asked to yield the CPU: 0 or 1
	MemberNrRunning                      // tasks that run or want to run on the CPU
	MemberSchedPolicy                    // of the running task, SCHED_*
	MemberPrio                           // of the running task, 0 to 139
	endOfContextMembers
)

// OfContext reports that only a program in the kernel can read the member, when
// the event happens.
func (f Member) OfContext() bool {
	return f >= MemberIRQsOff && f < endOfContextMembers || f >= MemberRead
}

// OfCgroup reports that the member is a text found from the event's cgroup: its
// path, container, pod or unit.
func (f Member) OfCgroup() bool { return f >= MemberCgroupPath && f <= MemberUnit }

// OfEvent reports that the Event itself holds the member, so that its record need
// not be read.
func (f Member) OfEvent() bool {
	switch f {
	case MemberTime, MemberPID, MemberTID, MemberCPU, MemberDelay:
		return true
	}
	return false
}

// Members of probes.
const (
	// MemberReg + n is register n at the moment of the event, by the kernel's
	// numbers (enum perf_event_x86_regs, perf_event_arm_regs).
	MemberReg Member = 64
	// MemberArg + n is value n that Schema.Arg or Schema.ArgText computes from
	// the sample members that Field.Computed lists.
	MemberArg Member = 128
	// MemberRead + n is a value that a program reads from the kernel's memory
	// when the event happens, by Field.Read: see runtime/expr.
	MemberRead Member = 1024
)

// OfRegister reports that the member is a register, or is computed from
// registers.
func (f Member) OfRegister() bool { return f >= MemberReg && f < MemberRead }

// OfProbe reports that the member is an argument of a probe, which is computed from
// other members.
func (f Member) OfProbe() bool { return f >= MemberArg && f < MemberRead }

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
	Member Member
	Unit   Unit
	Signed bool
	Offset int
	Size   int // bytes at Offset; for DataLoc and RelLoc the size of the u32
	// Wide is the number of bytes that the record has for the field, if it is more than Size and
	// the value is in the low Size bytes: system calls have 8 bytes for parameters of 4. 0 means
	// Size.
	Wide int
	// Filtered says that filters of the kernel take the field for signed if it is
	// unsigned, and the reverse.
	Filtered bool
	Elem     int // bytes of one element of an Array or Bitmask
	// Of is the array of which this field is an element, see Schema.Element;
	// otherwise nil.
	Of *Field
	// Computed describes how a MemberArg is computed; nil for other members.
	Computed *Computed
	// Read is how a program reads the member (MemberRead), a node of package expr.
	Read fmt.Stringer
	// Shown returns the text that the kernel prints for a value of the field, such as
	// TCP_SYN_SENT for 2; ok is false if the value itself is printed. Shown is nil if
	// that is so for all values. It may be slow: call it for output, not for each
	// event.
	Shown func(v Value) (text string, ok bool)
	// Errno says that negative values are negated error numbers (errno).
	Errno bool
}

// A Schema describes the events of one kind: where each field lies, and how
// the kernel prints them. It does not change once a source delivers events.
type Schema struct {
	System string // "sched"; "software" for software events
	Name   string // "sched_switch"
	// Named says that the author of a script chose the name; it is set for pairs.
	Named  bool
	ID     uint64 // the tracepoint's id, or attr.config
	Type   uint32 // perf attr.type
	Fields []Field
	// PrintFmt is the format's own text, empty where there is none.
	PrintFmt string
	// Size is the fixed part of Raw in bytes: a shorter record is truncated.
	Size int

	// Text appends the event's fields in the kernel's own form. Nil means
	// "name=value" for each field.
	Text func(dst []byte, e *Event) []byte
	// Symbolic maps a field's values to names, from the print fmt; nil if
	// the field has no table.
	Symbolic func(field string) *Symbols
	// SymbolicOf returns the name that the kernel prints for a field's value in
	// an event, also if the print fmt chooses between tables (kvm_exit has one
	// per vendor); false if there is none. Nil means that Symbolic has all
	// names.
	SymbolicOf func(field string, e *Event) (string, bool)
	// Arg computes the sample member MemberArg + n of an event as a number, ArgText as
	// text: arguments of probes. They return false if the value cannot be found. Both
	// may read the memory of the event's process at the time of the call.
	Arg     func(e *Event, n int) (uint64, bool)
	ArgText func(e *Event, n int) (string, bool)

	lookup
}

// lookup holds the tables for finding fields. They are built at the first call
// that needs them.
type lookup struct {
	once     sync.Once
	index    map[string]int
	elements map[*Field][]Field
}

// IsClock reports that the samples are taken by a clock, so that their period
// is a time in ns.
func (s *Schema) IsClock() bool {
	return s.System == "software" && (s.Name == "cpu-clock" || s.Name == "task-clock")
}

// FullName is "system:name".
func (s *Schema) FullName() string {
	if s.System == "" || s.System == "fold" || s.Named {
		return s.Name // a fold's events have the name that its author gave them
	}
	return s.System + ":" + s.Name
}

// Field returns the field with a name: a field of the record, or a sample
// member. A field of the record hides a sample member with the same name.
func (s *Schema) Field(name string) (*Field, bool) {
	s.once.Do(s.settle)
	if i, ok := s.index[name]; ok {
		return &s.Fields[i], true
	}
	f, ok := members[name]
	return f, ok
}

// settle builds the tables of lookup.
func (s *Schema) settle() {
	s.index = make(map[string]int, len(s.Fields))
	for i := range s.Fields {
		if _, dup := s.index[s.Fields[i].Name]; !dup {
			s.index[s.Fields[i].Name] = i
		}
	}
	s.elements = map[*Field][]Field{}
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Kind == Array && f.Place == InRaw {
			s.elements[f] = elementsOf(f)
		}
	}
}

// maxElements is the longest array whose elements can be used as fields.
const maxElements = 64

// elementsOf makes a field for each element of an array of integers; nil for
// other arrays, and for arrays longer than maxElements.
func elementsOf(f *Field) []Field {
	if f.Elem != 1 && f.Elem != 2 && f.Elem != 4 && f.Elem != 8 || f.Size/f.Elem > maxElements {
		return nil
	}
	list := make([]Field, f.Size/f.Elem)
	for i := range list {
		list[i] = Field{
			Name:   fmt.Sprintf("%s[%d]", f.Name, i),
			Type:   strings.TrimSuffix(f.Type, fmt.Sprintf("[%d]", len(list))),
			Signed: f.Signed,
			Offset: f.Offset + i*f.Elem,
			Size:   f.Elem,
			Of:     f,
		}
	}
	return list
}

// Element returns element i of the array f as a field that is read like any other;
// false if f is not an array of integers in the record, or has no element i.
func (s *Schema) Element(f *Field, i int) (*Field, bool) {
	s.once.Do(s.settle)
	list := s.elements[f]
	if i < 0 || i >= len(list) {
		return nil, false
	}
	return &list[i], true
}

// ElementAt returns the element of an array that is at an offset in the record
// and has size bytes.
func (s *Schema) ElementAt(offset, size int) (*Field, bool) {
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Kind == Array && f.Elem == size && f.Place == InRaw && offset >= f.Offset {
			if e, ok := s.Element(f, (offset-f.Offset)/size); ok && e.Offset == offset {
				return e, true
			}
		}
	}
	return nil, false
}

// Own returns the array of which f is an element, or f itself.
func (f *Field) Own() *Field {
	if f.Of != nil {
		return f.Of
	}
	return f
}

// Names lists the names that Field accepts: the record's fields first, then sample
// members.
func (s *Schema) Names() []string {
	var names []string
	for i := range s.Fields {
		names = append(names, s.Fields[i].Name)
	}
	for _, f := range memberList {
		if _, own := s.index[f.Name]; !own {
			names = append(names, f.Name)
		}
	}
	return names
}

// memberList has the fields that every schema has. A field of the record hides
// the member with the same name: e.pid of sched_wakeup is the woken task. The
// names with an underscore, which perf-prof has too, still reach the member.
var memberList = []Field{
	{Name: "time", Type: "u64", Member: MemberTime, Unit: Moment, Size: 8, Signed: true},
	{Name: "pid", Type: "int", Member: MemberPID, Size: 4, Signed: true},
	{Name: "tid", Type: "int", Member: MemberTID, Size: 4, Signed: true},
	{Name: "cpu", Type: "int", Member: MemberCPU, Size: 4, Signed: true},
	{Name: "comm", Type: "char[]", Kind: Str, Member: MemberComm, Size: 16},
	{Name: "period", Type: "u64", Member: MemberPeriod, Unit: CountOf, Size: 8},
	{Name: "addr", Type: "u64", Member: MemberAddr, Unit: AddressU, Size: 8},
	{Name: "ip", Type: "u64", Member: MemberIP, Unit: AddressU, Size: 8},
	{Name: "weight", Type: "u64", Member: MemberWeight, Unit: CountOf, Size: 8},
	{Name: "data_src", Type: "u64", Member: MemberDataSrc, Size: 8},
	{Name: "phys_addr", Type: "u64", Member: MemberPhysAddr, Unit: AddressU, Size: 8},
	{Name: "cpumode", Type: "u32", Member: MemberMode, Size: 4},
	{Name: "cgroup_id", Type: "u64", Member: MemberCgroup, Size: 8},
	{Name: "cgroup", Type: "char[]", Kind: Str, Member: MemberCgroupPath},
	{Name: "container", Type: "char[]", Kind: Str, Member: MemberContainer},
	{Name: "pod", Type: "char[]", Kind: Str, Member: MemberPod},
	{Name: "unit", Type: "char[]", Kind: Str, Member: MemberUnit},
	{Name: "comm_nodigit", Type: "char[]", Kind: Str, Member: MemberCommNoDigit, Size: 16},
	{Name: "data_page_size", Type: "u64", Member: MemberDataPage, Unit: SizeB, Size: 8},
	{Name: "code_page_size", Type: "u64", Member: MemberCodePage, Unit: SizeB, Size: 8},
	{Name: "stack", Type: "u32", Member: MemberCallchain, Size: 4},
	{Name: "irqs_disabled", Type: "int", Member: MemberIRQsOff, Size: 4, Signed: true},
	{Name: "tif_need_resched", Type: "int", Member: MemberNeedResched, Size: 4, Signed: true},
	{Name: "nr_running", Type: "u32", Member: MemberNrRunning, Size: 4},
	{Name: "sched_policy", Type: "int", Member: MemberSchedPolicy, Size: 4, Signed: true},
	{Name: "prio", Type: "int", Member: MemberPrio, Size: 4, Signed: true},
	{Name: "_time", Type: "u64", Member: MemberTime, Unit: Moment, Size: 8, Signed: true},
	{Name: "_pid", Type: "int", Member: MemberPID, Size: 4, Signed: true},
	{Name: "_tid", Type: "int", Member: MemberTID, Size: 4, Signed: true},
	{Name: "_cpu", Type: "int", Member: MemberCPU, Size: 4, Signed: true},
	{Name: "_comm", Type: "char[]", Kind: Str, Member: MemberComm, Size: 16},
	{Name: "_period", Type: "u64", Member: MemberPeriod, Unit: CountOf, Size: 8},
}

var members = func() map[string]*Field {
	m := make(map[string]*Field, len(memberList))
	for i := range memberList {
		memberList[i].Place = InMember
		m[memberList[i].Name] = &memberList[i]
	}
	return m
}()

// BoolType is Field.Type of a computed field whose values are true or false.
// Its Kind is Int, as in C.
const BoolType = "bool"

// StackName is the name of an event's stack among its fields.
const StackName = "stack"

// Stack reports that the field's numbers stand for call stacks (package stack). That
// holds for the sample member, and for fields named stack or NAME_stack of derived
// events.
func (f *Field) Stack() bool {
	switch f.Place {
	case InMember:
		return f.Member == MemberCallchain
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
	// Order lists the numbers in the order of the print fmt: of overlapping
	// flags, the first is printed.
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

// Weighted reports that the kernel counts a hit of the tracepoint more than
// once: a hit of sched_stat_runtime counts as many times as it has nanoseconds
// (__perf_count in include/trace/events/sched.h).
func (s *Schema) Weighted() bool {
	return s.System == "sched" && strings.HasPrefix(s.Name, "sched_stat_")
}
