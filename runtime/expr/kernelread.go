package expr

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
)

// This file has the nodes that read the kernel's memory, and the fields that
// stand for them.
//
// Only a program in the kernel can read this memory when the event happens. So
// a read is a field of the event, like other context members. A program that
// does the plan's work reads it during the evaluation. A program that sends
// events reads it first and sends the value; code that evaluates the expression
// in ppscript finds the value in the sample. Field.F.Read is the node of the
// read.

type (
	// KernelInt reads Size bytes of the kernel's memory as an integer. A bad
	// address is an error of the evaluation.
	KernelInt struct {
		Addr   Node
		Size   int
		Signed bool
	}

	// KernelText reads the text at an address of the kernel: up to its NUL, and at
	// most Size bytes. Cut says that a longer text is cut and ends in dots;
	// otherwise it is an array that the text may fill.
	KernelText struct {
		Addr Node
		Size int
		Cut  bool
	}

	// ProcessArea is a text from the memory of the running process between two
	// addresses, with at most Size bytes. NULs inside become blanks. A longer area is
	// cut and ends in dots.
	ProcessArea struct {
		From, To Node
		Size     int
	}

	// KernelPath is the path of a file, from its directory entry and its mount, of at most
	// event.UserTextLimit bytes; a longer one begins with dots. Mount is 0 for a path inside its file
	// system. Dentry points to the member at Alias of the entry; if it is 0, the text is the name of the
	// file system Super. Super may be 0 if Dentry is not.
	KernelPath struct {
		Dentry, Mount, Super Node
		Alias                int
		Offsets              PathOffsets
	}

	// TraceArg is the argument Index of the kernel's call of the event's
	// tracepoint, cut to Size bytes.
	TraceArg struct {
		Index, Size int
		Signed      bool
	}

	// TaskAddr is the address of the running task's task_struct.
	TaskAddr struct{}

	// CPUDistance is the distance in bytes from the per-CPU variables of the
	// running CPU to the ones of another CPU. An unknown CPU is an error of the
	// evaluation.
	CPUDistance struct{ CPU Node }
)

// kernelTextLimit bounds texts that are read through pointers, in bytes.
const kernelTextLimit = 127

func (n *KernelInt) Type() Type  { return Type{Kind: Int, Unsigned: !n.Signed} }
func (n *KernelText) Type() Type { return TStr }
func (*ProcessArea) Type() Type  { return TStr }
func (n *TaskAddr) Type() Type   { return TUint }
func (*KernelPath) Type() Type   { return TStr }
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
func (n *KernelPath) String() string {
	return fmt.Sprintf("kernel.path[%s-%d, %s, %s]", n.Dentry, n.Alias, n.Mount, n.Super)
}
func (n *TaskAddr) String() string    { return "task" }
func (n *CPUDistance) String() string { return fmt.Sprintf("distance[%s]", n.CPU) }
func (n *TraceArg) String() string    { return fmt.Sprintf("argument%d.%d", n.Index, n.Size) }

// ReadOf returns the read that a field stands for; nil for other fields.
func ReadOf(f *event.Field) Node {
	n, _ := f.Read.(Node)
	return n
}

// A Kernel has the types of the running kernel, and the fields that stand for
// reads of its memory. Its methods may be called from several goroutines.
type Kernel struct {
	Types *kerneltype.Types

	mu     sync.Mutex
	fields map[string]*event.Field // by the text of the read
}

// NewKernel makes a Kernel of types.
func NewKernel(types *kerneltype.Types) *Kernel {
	return &Kernel{Types: types, fields: map[string]*event.Field{}}
}

// mostReads bounds the sample members for reads.
const mostReads = 1 << 12

// field returns the field that stands for a read, in the part of the event
// whose fields the read uses. Equal reads share one field.
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

// readOfPart finds the part of the event whose fields a read uses. The memory
// is read when the event of that part happens.
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

// Reads lists the reads of the kernel's memory for fields in n that happen with
// the event itself, not with the start of a pair, and the reads that these
// depend on.
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

// readText finds in the sample the text that a program read and sent.
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
