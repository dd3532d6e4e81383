package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
)

// This file is the reads of the kernel's memory: the nodes, and the field that
// stands for one of them.
//
// Only a program in the kernel can read, at the moment of the event. So a read
// is a field of the event, as its other context members are: a program that
// does the plan's work reads it where an expression asks for it, one that
// sends the event along reads it first and sends it. Code that evaluates the
// expression in ppscript finds the value in the sample. What such a field
// reads, and of which address, is Field.F.Read.

type (
	// KernelInt reads Size bytes of the kernel's memory as an integer. A bad
	// address is an error of the evaluation.
	KernelInt struct {
		Addr   Node
		Size   int
		Signed bool
	}

	// KernelText reads the text at an address of the kernel: up to its NUL, and at
	// most Size bytes. Cut says that a longer one ends in dots; otherwise it
	// fills its array.
	KernelText struct {
		Addr Node
		Size int
		Cut  bool
	}

	// ProcessArea is the memory of the running process from one address to another, at
	// most Size bytes of it, as a text: blanks stand for the NULs inside. A longer one
	// ends in dots.
	ProcessArea struct {
		From, To Node
		Size     int
	}

	// TraceArg is an argument with which the kernel calls the event's tracepoint:
	// that of Index, cut to Size bytes.
	TraceArg struct {
		Index, Size int
		Signed      bool
	}

	// TaskAddr is the address of the running task's task_struct.
	TaskAddr struct{}

	// CPUDistance is how far the variables of a CPU lie from those of the running
	// one, in bytes. A number that no CPU has is an error of the evaluation.
	CPUDistance struct{ CPU Node }
)

// kernelTextLimit bounds the texts that pointers lead to, in bytes.
const kernelTextLimit = 127

func (n *KernelInt) Type() Type  { return Type{Kind: Int, Unsigned: !n.Signed} }
func (n *KernelText) Type() Type { return TStr }
func (*ProcessArea) Type() Type  { return TStr }
func (n *TaskAddr) Type() Type   { return TUint }
func (*CPUDistance) Type() Type  { return TUint }
func (n *TraceArg) Type() Type   { return Type{Kind: Int, Unsigned: !n.Signed} }

func (n *KernelInt) String() string {
	sign := "u"
	if n.Signed {
		sign = "s"
	}
	return fmt.Sprintf("kernel.%s%d[%s]", sign, n.Size*8, n.Addr)
}

func (n *KernelText) String() string { return fmt.Sprintf("kernel.text%d[%s]", n.Size, n.Addr) }
func (n *ProcessArea) String() string {
	return fmt.Sprintf("process.text%d[%s, %s]", n.Size, n.From, n.To)
}
func (n *TaskAddr) String() string    { return "task" }
func (n *CPUDistance) String() string { return fmt.Sprintf("distance[%s]", n.CPU) }
func (n *TraceArg) String() string    { return fmt.Sprintf("argument%d.%d", n.Index, n.Size) }

// ReadOf is what a field reads of the kernel's memory; nil if it is no such field.
func ReadOf(f *event.Field) Node {
	n, _ := f.Read.(Node)
	return n
}

// A Kernel is the memory of the running kernel as expressions know it: its types,
// and the fields that stand for reads. Its methods may be called from several
// goroutines.
type Kernel struct {
	Types *kerneltype.Types

	mu     sync.Mutex
	fields map[string]*event.Field // by what they read
}

// NewKernel makes a Kernel of types.
func NewKernel(types *kerneltype.Types) *Kernel {
	return &Kernel{Types: types, fields: map[string]*event.Field{}}
}

// mostReads bounds the numbers of sample members.
const mostReads = 1 << 12

// field is the field that stands for a read, of the part of the event that the
// read's own fields are of. One read is one field, however often it is written.
func (k *Kernel) field(read Node, f event.Field) (Node, error) {
	part, err := readOfPart(read)
	if err != nil {
		return nil, err
	}
	read = Rebind(read, part, Self)
	var key strings.Builder
	key.WriteString(read.String())
	Walk(read, func(n Node) bool {
		if x, ok := n.(*Field); ok {
			fmt.Fprintf(&key, " %p", x.F)
		}
		return true
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	have := k.fields[key.String()]
	if have == nil {
		if len(k.fields) == mostReads {
			return nil, fmt.Errorf("more than %d reads of the kernel's memory", mostReads)
		}
		f.Place, f.Member, f.Read = event.InMember, event.MemberRead+event.Member(len(k.fields)), read
		have = &f
		k.fields[key.String()] = have
	}
	return &Field{F: have, Part: part}, nil
}

var (
	errReadOf = errors.New("an address must be computed of one event: its fields, task() and constants")
	errReads  = errors.New("got an address computed from two events")
)

// readOfPart finds the event at whose moment an address is read.
func readOfPart(read Node) (part Part, err error) {
	seen := false
	Walk(read, func(n Node) bool {
		switch n := n.(type) {
		case *Field:
			if seen && n.Part != part {
				err = errReads
			}
			part, seen = n.Part, true
		case *Const:
			if _, _, ok := RecordOffset(n); ok {
				err = errReadOf
			}
		case *Local, *Set, *LoadState, *LoadElem, *Native, *Func, *Seq:
			err = errReadOf
		}
		return err == nil
	})
	return part, err
}

// Reads lists what the fields of n read of the kernel's memory at the moment of
// the event itself, and what those need to be read first.
func Reads(n Node) []Node {
	var list []Node
	Walk(n, func(n Node) bool {
		if f, ok := n.(*Field); ok && f.Part != Start && f.F.Read != nil {
			read := ReadOf(f.F)
			list = append(append(list, read), Reads(read)...)
		}
		return true
	})
	return list
}

// readText finds a text that a program read in the sample that it sent.
func readText(n *Field) strFn {
	fld, part := n.F, n.Part
	return func(f *Frame) []byte {
		e := f.part(part)
		if e == nil {
			return nil
		}
		text := fld.Text(e)
		if text == nil {
			f.Fail(ErrMissing)
		}
		return text
	}
}
