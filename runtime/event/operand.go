package event

// Computed describes a sample member (MemberArg) that is computed here from
// other members.
type Computed struct {
	// Uses lists the other sample members that the computation reads.
	Uses []Member
	// Operand says how programs of the kernel compute the value; nil if they
	// cannot.
	Operand *Operand
}

// Uses lists the other sample members from which the field is computed.
func (f *Field) Uses() []Member {
	if f.Computed == nil {
		return nil
	}
	return f.Computed.Uses
}

// Operand says how programs of the kernel compute the field; nil if they cannot.
func (f *Field) Operand() *Operand {
	if f.Computed == nil {
		return nil
	}
	return f.Computed.Operand
}

// An Operand says how a program of the kernel computes an argument of a probe
// (MemberArg) when the event happens, from the registers. Without such a program
// it is computed here, from the sample.
//
// The value is Value plus the registers. If Load is not 0, that sum is an address,
// and the value is read from the memory of the process.
type Operand struct {
	// Text is a constant, which needs nothing else.
	Text string
	// Texts are constants, one for each place of the probe: a program uses the one of its own
	// place. List is the index of this list, since a program may need several.
	Texts []string
	List  int
	// Value is a constant to which the registers are added.
	Value int64
	// Regs are registers by the kernel's numbers, each shifted left by its Scale.
	Regs []ScaledReg
	// Load is the number of bytes to read at the address; 0 means that the sum
	// itself is the value.
	Load int
	// Shift is the number of bits by which the value is shifted right.
	Shift uint8
	// Size is the number of low bytes to which the value is cut, and Signed
	// extends its sign; 0 keeps all of it.
	Size   int
	Signed bool
}

// A ScaledReg is a register, shifted left.
type ScaledReg struct{ Reg, Scale uint8 }

// Constant reports that the operand reads nothing from the event.
func (o *Operand) Constant() bool { return len(o.Regs)+len(o.Texts) == 0 && o.Load == 0 }
