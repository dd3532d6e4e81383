package session

// This file asks whoever started the run before it reaches beyond the kernel and
// the output: a script names files to write and machines to talk to as freely as
// events, and the run may be root's.

// A Use is something outside that a run is about to write to or to talk to.
type Use struct {
	Kind UseKind
	// Name is the path or the address that is opened.
	Name string
	// Given is the text that the script gave: Name, or the beginning of it.
	Given string
}

// UseKind is the kind of use.
type UseKind uint8

const (
	Writes   UseKind = iota // a file is made or changed
	Sends                   // events go to an address, where others may fetch them
	Receives                // events come from an address
)

// String is the verb.
func (k UseKind) String() string { return [...]string{"write", "push", "pull"}[k] }

// permit asks for a Use; who gave no Permit permits all.
func (c *Config) permit(kind UseKind, name, given string) error {
	if c.Permit == nil {
		return nil
	}
	return c.Permit(Use{Kind: kind, Name: name, Given: given})
}
