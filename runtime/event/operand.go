package event

// Computed is of what a sample member is made that is computed here.
type Computed struct {
	// Uses lists the other sample members that it needs.
	Uses []Member
	// Operand says how programs of the kernel find it; nil if they cannot.
	Operand *Operand
}

// Uses lists the other sample members that the field needs.
func (f *Field) Uses() []Member {
	if f.Computed == nil {
		return nil
	}
	return f.Computed.Uses
}

// Operand says how programs of the kernel find a computed field; nil if they cannot.
func (f *Field) Operand() *Operand {
	if f.Computed == nil {
		return nil
	}
	return f.Computed.Operand
}

// An Operand says how a program of the kernel finds a value of a probe that is
// computed here from a sample (MemberArg): at the moment of the event itself, from
// the registers.
//
// The value is Value plus registers. With Load, it is what lies at that address in
// the memory of the process.
type Operand struct {
	// Text is a constant, which needs nothing else.
	Text string
	// Texts are constants, of which the place of the program's probe chooses one; List is the number of
	// these, since there may be several such texts.
	Texts []string
	List  int
	// Value is a constant to which the registers are added.
	Value int64
	// Regs are registers by the kernel's numbers, each shifted left by its Scale.
	Regs []ScaledReg
	// Load is how many bytes are read at the address; 0 is none.
	Load int
	// Shift is by how many bits the value is shifted right.
	Shift uint8
	// Size and Signed say to what the value is cut; 0 is all of it.
	Size   int
	Signed bool
}

// A ScaledReg is a register, shifted left.
type ScaledReg struct{ Reg, Scale uint8 }

// Constant reports that the operand needs nothing of the event.
func (o *Operand) Constant() bool { return len(o.Regs)+len(o.Texts) == 0 && o.Load == 0 }
