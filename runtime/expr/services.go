package expr

// Services are the functions that expressions need from the session. Each may
// be nil; an expression that uses a nil one does not compile. They run per
// event: they must not allocate in the common case, and the texts that they
// return must not change.
type Services struct {
	// Traced reports whether a thread belongs to the target, for plans that are
	// attached to CPUs: see traced().
	Traced      func(tid int32) bool
	Ksym        func(addr uint64) string          // kernel function; the address in hex if there is none
	KsymOffset  func(addr uint64) string          // the same with +offset
	Comm        func(tid int32) string            // name of a thread
	NameOf      func(id string) (string, bool)    // name of a container or a pod
	SyscallName func(nr int64) string             // "read"
	ExitReason  func(isa, code int64) string      // KVM exit reason; isa 1 VMX, 2 SVM, 3 ARM
	Kernel      *Kernel                           // the memory of the kernel, by its types
	System      func(command string) (status int) // runs a shell command; nil unless allowed
}
