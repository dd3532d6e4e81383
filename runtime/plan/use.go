package plan

import (
	"slices"

	"ppscript/runtime/source/relay"
)

// A Use is a file, a program or an address outside that a run is about to read, to write, to start
// or to talk to. The user who started the run permits or denies it, since scripts and requests can
// name any file or address, and the run may have root's rights.
type Use struct {
	Kind UseKind
	// Name is the path or the address that is opened, or the program that is started.
	Name string
	// ScriptText is the text that the script gave: Name, or the beginning of it.
	ScriptText string
	// Args are the arguments of a program that is started.
	Args []string
}

// UseKind is the kind of use.
type UseKind uint8

const (
	Writes   UseKind = iota // a file is made or changed
	Sends                   // events go to an address, where others may fetch them
	Receives                // events come from an address
	Reads                   // a recording is read
	Probes                  // a program is read for its symbols, and probed
	Starts                  // a program is started
)

// String is the verb of the kind, as messages use it: "read", "write".
func (k UseKind) String() string {
	return [...]string{"write", "push", "pull", "read", "probe", "start"}[k]
}

// Receiving is the use of an address that events come from, which may be a file.
func Receiving(from string) Use {
	u := Use{Kind: Receives, Name: from, ScriptText: from}
	if relay.IsFile(from) && !relay.IsDevice(from) {
		u.Kind = Reads
	}
	return u
}

// Probing is the use of a program whose code is probed.
func Probing(file string) Use { return Use{Kind: Probes, Name: file, ScriptText: file} }

// Uses returns the uses of the events that reports read, also of profilers among them.
func Uses(reports []Report) (all []Use) {
	var seen []*Source
	var of func(s Stream)
	add := func(s *Source) {
		if s == nil || slices.Contains(seen, s) {
			return
		}
		seen = append(seen, s)
		for _, from := range s.Pull() {
			all = append(all, Receiving(from))
		}
		for _, to := range s.Push() {
			all = append(all, Use{Kind: Sends, Name: to, ScriptText: to})
		}
		if s.Probe != nil && s.Probe.File != "" {
			all = append(all, Probing(s.Probe.File))
		}
	}
	of = func(s Stream) {
		switch s := s.(type) {
		case *Source:
			add(s)
		case *Counters:
			for _, in := range s.In {
				add(in)
			}
		case *Profiler:
			add(s.As)
		}
		for _, in := range s.Inputs() {
			of(in)
		}
	}
	for _, r := range reports {
		of(r.Input())
	}
	return all
}
