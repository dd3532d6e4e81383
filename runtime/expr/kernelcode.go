package expr

// A KernelCode is how programs of the kernel compute a Native: one of the types below, a *Dict or an
// *Asking. A generator of programs switches over them.
type KernelCode interface{ kernelCode() }

type (
	// Swap reverses the order of the low bytes of the argument, 2 or 4 of them.
	Swap struct{ Bytes int }
	// Extreme is the least of the arguments, or the greatest: signed integers.
	Extreme struct{ Low bool }
	// PowerOf is the largest n with 2**n <= the argument, -1 if there is none.
	PowerOf struct{ Unsigned bool }
	// InTarget asks whether the argument is a thread that is traced.
	InTarget struct{}
	// ProcessText is the text at an address of the process; Instead is its value where no program reads
	// it, and nil makes that an error.
	ProcessText struct{ Instead *Const }
)

func (Swap) kernelCode()        {}
func (Extreme) kernelCode()     {}
func (PowerOf) kernelCode()     {}
func (InTarget) kernelCode()    {}
func (ProcessText) kernelCode() {}
func (*Dict) kernelCode()       {}
func (*Asking) kernelCode()     {}

// NamesHere is the HostOnly of functions that look names up.
const NamesHere = "the names are in ppscript's memory"

// TextsHere is the HostOnly of functions that make texts.
const TextsHere = "programs of the kernel do not make texts of numbers"

// check panics unless n says either how programs compute it, or why they cannot.
func (n *Native) check() {
	if (n.Kernel == nil) == (n.HostOnly == "") {
		panic("BUG: native " + n.Name + " says neither how programs compute it nor why they cannot")
	}
}
