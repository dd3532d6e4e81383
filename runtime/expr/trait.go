package expr

// A Trait is a property of a Native for others: planners, which decide where it
// can run, and generators of programs. Nobody asks for its name.
type Trait uint8

const (
	// Interprets says that a function of the script runs.
	Interprets Trait = 1 << iota
	// ReadsRecord says that it looks at more of the record than its arguments
	// tell: the names of values, by the event's print fmt.
	ReadsRecord
	// ReadsNow says that its answer depends on when it is asked.
	ReadsNow
	// ReadsProcess says that it reads memory of the process: see NewUserText.
	ReadsProcess
	// AsksThreads says that it asks whether a thread is one to be traced.
	AsksThreads
)

// Is reports whether n has any of some traits.
func (n *Native) Is(traits Trait) bool { return n.Traits&traits != 0 }

// HasNative reports whether some part of n calls a Native with one of the traits.
func HasNative(n Node, traits Trait) bool {
	found := false
	Walk(n, func(n Node) bool {
		if c, ok := n.(*Native); ok && c.Is(traits) {
			found = true
		}
		return !found
	})
	return found
}
