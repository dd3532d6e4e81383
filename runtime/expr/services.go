package expr

// Services are the functions that expressions need from outside. Each may be
// nil; using one that is nil is a compile error that says so. They run per
// event: they must not allocate in the common case, and the texts they
// return must not change.
type Services struct {
	// Traced tells whether a thread belongs to the target, where the
	// attachment does not settle that: see traced().
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
