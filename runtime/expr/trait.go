package expr

// A Trait is a property of a Native that planners, which decide where it can
// run, and generators of programs need. They test traits instead of
// Native.Name.
type Trait uint8

const (
	// Interprets says that a function of the script runs.
	Interprets Trait = 1 << iota
	// ReadsRecord says that it reads more of the record than its arguments, as
	// names of values in the event's print fmt do.
	ReadsRecord
	// ReadsNow says that its result depends on the time of the evaluation.
	ReadsNow
	// ReadsProcess says that it reads memory of the process: see NewUserText.
	ReadsProcess
	// AsksThreads says that it tests whether a thread is observed.
	AsksThreads
)

// Is reports whether n has any of the traits.
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
