package expr

// A KernelCode says how programs of the kernel compute a Native: one of the types below, a *Dict or
// an *Asking. A generator of programs switches over these types.
type KernelCode interface{ kernelCode() }

type (
	// Swap reverses the order of the low 2 or 4 bytes of the argument.
	Swap struct{ Bytes int }
	// Extreme is the smallest or the greatest of the arguments, which are
	// signed integers.
	Extreme struct{ Low bool }
	// PowerOf is the largest n with 2**n <= the argument, -1 if there is none.
	PowerOf struct{ Unsigned bool }
	// InTarget reports whether the argument is an observed thread.
	InTarget struct{}
	// ProcessText is the text at an address of the process. Instead is the value if no program
	// reads it; if nil, that is an error.
	ProcessText struct{ Instead *Const }
)

func (Swap) kernelCode()        {}
func (Extreme) kernelCode()     {}
func (PowerOf) kernelCode()     {}
func (InTarget) kernelCode()    {}
func (ProcessText) kernelCode() {}
func (*Dict) kernelCode()       {}
func (*Asking) kernelCode()     {}

// NamesHere is the HostOnly reason of functions that look up names.
const NamesHere = "the names are in ppscript's memory"

// TextsHere is the HostOnly reason of functions that make texts.
const TextsHere = "programs of the kernel do not make texts of numbers"

// check panics unless n has either Kernel or HostOnly.
func (n *Native) check() {
	if (n.Kernel == nil) == (n.HostOnly == "") {
		panic("BUG: native " + n.Name + " says neither how programs compute it nor why they cannot")
	}
}
