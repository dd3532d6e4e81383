package stack

// This file reads call chains in the kernel's form: addresses, innermost first,
// with markers between them. A marker says in which context the addresses after
// it are (enum perf_callchain_context in include/uapi/linux/perf_event.h).

// A Context says whether an address is in code of the kernel, of a process, or
// of a guest.
type Context uint8

const (
	Unknown Context = iota
	Kernel
	User
	Hypervisor
	GuestKernel
	GuestUser
	Named       // not an address but the number of a place, see Table.Named
	Interpreted // not an address but the number plus 1 of an interpreted function
)

var contextNames = [...]string{
	"", "kernel", "user", "hypervisor", "guest kernel", "guest user", "named", "interpreted",
}

func (c Context) String() string { return contextNames[c] }

// Markers of call chains.
const (
	markHypervisor   = ^uint64(32 - 1)   // PERF_CONTEXT_HV
	markKernel       = ^uint64(128 - 1)  // PERF_CONTEXT_KERNEL
	markUser         = ^uint64(512 - 1)  // PERF_CONTEXT_USER
	markUserDeferred = ^uint64(640 - 1)  // PERF_CONTEXT_USER_DEFERRED
	markGuest        = ^uint64(2048 - 1) // PERF_CONTEXT_GUEST
	markGuestKernel  = ^uint64(2176 - 1) // PERF_CONTEXT_GUEST_KERNEL
	markGuestUser    = ^uint64(2560 - 1) // PERF_CONTEXT_GUEST_USER
	markNamed        = ^uint64(3584 - 1) // our own; the kernel does not use this value
	// Our own: interpreted functions, and the marker of user addresses after
	// them.
	markInterpreted = ^uint64(3712 - 1)
	markReturn      = ^uint64(3840 - 1)
	// markLeast is PERF_CONTEXT_MAX: words from there on are not addresses.
	markLeast = ^uint64(4095 - 1)
)

// marker reports that a word of a chain is a marker, and returns the context of the
// words after it.
func marker(word uint64) (Context, bool) {
	if word < markLeast {
		return Unknown, false
	}
	switch word {
	case markKernel:
		return Kernel, true
	case markUser:
		return User, true
	case markHypervisor:
		return Hypervisor, true
	case markGuest, markGuestKernel:
		return GuestKernel, true
	case markGuestUser:
		return GuestUser, true
	case markNamed:
		return Named, true
	case markInterpreted:
		return Interpreted, true
	case markReturn:
		return User, true
	}
	return Unknown, true // also markUserDeferred, which is followed by a cookie
}

// Each calls fn for every address of a chain, innermost first. exact says that
// the code was interrupted at the address; other addresses are return
// addresses, one instruction after the call.
func Each(chain []uint64, fn func(addr uint64, in Context, exact bool)) {
	in, exact := Unknown, true
	for i, word := range chain {
		if c, mark := marker(word); mark {
			in, exact = c, word != markReturn
			if word == markUserDeferred {
				return
			}
			continue
		}
		if i == 0 && word >= 1<<63 {
			in = Kernel // a chain without markers
		} else if i == 0 {
			in = User
		}
		if word != 0 {
			fn(word, in, exact)
		}
		exact = false
	}
}

// Mark is the marker before addresses of a context; exact says that the code was interrupted at
// the first of them.
func Mark(in Context, exact bool) uint64 {
	switch {
	case in == User && !exact:
		return markReturn
	case in == Interpreted:
		return markInterpreted
	}
	return markOf[in]
}

// addresses is the number of addresses in a chain.
func addresses(chain []uint64) int {
	n := 0
	for _, word := range chain {
		if word < markLeast {
			n++
		}
	}
	return n
}

// appendPart appends the addresses of one context with its marker.
func appendPart(dst, chain []uint64, want Context) []uint64 {
	marked, in := false, Unknown
	for _, word := range chain {
		if c, mark := marker(word); mark {
			in, marked = c, false
			continue
		}
		if in != want {
			continue
		}
		if !marked {
			dst = append(dst, markOf[want])
			marked = true
		}
		dst = append(dst, word)
	}
	return dst
}

var markOf = [...]uint64{Kernel: markKernel, User: markUser, Hypervisor: markHypervisor,
	GuestKernel: markGuestKernel, GuestUser: markGuestUser}

// hasUser reports that a chain has addresses of a process.
//
// Fast path: runs per sample. The user part comes after the kernel part.
func hasUser(chain []uint64) bool {
	for _, word := range chain {
		if word == markUser {
			return true
		}
	}
	return len(chain) > 0 && chain[0] < 1<<63
}
