package probe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
)

// Kind is the kind of a Spec.
type Kind uint8

const (
	Kprobe Kind = iota
	Kretprobe
	Uprobe
	Uretprobe
	USDT
	Breakpoint
)

func (k Kind) String() string {
	return [...]string{"kprobe", "kretprobe", "uprobe", "uretprobe", "usdt", "breakpoint"}[k]
}

// OfFile reports that probes of this kind are in programs and libraries, not in the
// kernel.
func (k Kind) OfFile() bool { return k == Uprobe || k == Uretprobe || k == USDT }

func (k Kind) returns() bool { return k == Kretprobe || k == Uretprobe }

// A Spec is a probe as written by the user.
type Spec struct {
	Kind Kind
	// Name is a function, "func+0x10", a source line, "file.c:123", a pattern of
	// functions, or an address as nm prints it, "0x1040"; "+0x1040" is an offset in
	// the file. A source line is possible only in a program. For USDT, Name is
	// "provider:name" or "name", for breakpoints an address or symbol.
	Name string
	// File is a path, or the name of a program or library, which is searched in
	// the usual directories. Empty means the program of PID. It is not used for
	// kprobes.
	File string
	// PID is the process whose files or memory are probed; 0 is none. Paths are
	// in its mount namespace.
	PID int
	// Limit bounds the matches of a pattern; 0 is DefaultLimit.
	Limit int
	// Args declares the arguments in C, "int fd, char *name", and Ret the
	// result: they become fields of these names and types.
	Args, Ret string

	// For breakpoints: the number of bytes, and the kind of access: r, w, x or
	// rw.
	Len    int
	Access string
}

// DefaultLimit is the number of functions that a pattern may match.
const DefaultLimit = 100

func (s *Spec) limit() int {
	if s.Limit > 0 {
		return s.Limit
	}
	return DefaultLimit
}

// String returns the probe in the notation of event strings.
func (s *Spec) String() string {
	text := s.Kind.String() + ":" + s.Name
	switch s.Kind {
	case Uprobe, Uretprobe, USDT:
		if s.File != "" {
			text += "@" + strconv.Quote(s.File)
		}
	case Breakpoint:
		if s.Len > 0 {
			text += fmt.Sprintf("/%d", s.Len)
		}
		if s.Access != "" {
			text += ":" + s.Access
		}
	}
	return text
}

// A Probe is one event to open.
type Probe struct {
	// Schema has attr.type and attr.config, and describes the samples.
	Schema           *event.Schema
	Config1, Config2 uint64
	Config1Text      string // if not empty, attr.config1 points to it
	BPType           uint32
	// Note is a message for the user about a limit of this probe; may be empty.
	Note string
}

// RegsIntr returns the mask of registers that the wanted sample members of the schema
// need.
func RegsIntr(s *event.Schema, wanted []event.Member) uint64 {
	var mask uint64
	want := map[event.Member]bool{}
	for _, f := range wanted {
		want[f] = true
	}
	add := func(f event.Member) {
		if f >= event.MemberReg && f < event.MemberArg && want[f] {
			mask |= 1 << (f - event.MemberReg)
		}
	}
	for i := range s.Fields {
		add(s.Fields[i].Member)
		for _, f := range s.Fields[i].Uses() {
			add(f)
		}
	}
	return mask
}

// StackUser returns the bytes of user stack that the wanted sample members need.
func StackUser(s *event.Schema, wanted []event.Member) uint32 {
	need := false
	for _, f := range wanted {
		need = need || f == event.MemberStack
	}
	if !need {
		return 0
	}
	for i := range s.Fields {
		for _, f := range s.Fields[i].Uses() {
			if f == event.MemberStack {
				return stackBytes
			}
		}
	}
	return 0
}

// isPattern reports that a name has wildcards. Names of Go methods have stars
// too, main.(*T).Method, so callers first look up the name itself.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// splitOffset splits "func+0x10" into name and offset.
func splitOffset(name string) (fn string, off uint64, err error) {
	i := strings.LastIndexByte(name, '+')
	if i <= 0 {
		return name, 0, nil
	}
	off, numErr := parseNumber(name[i+1:])
	if numErr != nil {
		// The plus is a part of the name, as in operator+.
		return name, 0, nil
	}
	return name[:i], off, nil
}

func parseNumber(s string) (uint64, error) {
	if h, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		return strconv.ParseUint(h, 16, 64)
	}
	return strconv.ParseUint(s, 10, 64)
}

// parseAddress parses "0x1040"; false if the text is not an address.
func parseAddress(s string) (uint64, bool) {
	if !strings.HasPrefix(s, "0x") && !strings.HasPrefix(s, "0X") {
		return 0, false
	}
	v, err := parseNumber(s)
	return v, err == nil
}

// ReadsMemory reports that a wanted sample member reads the memory of the event's
// process, so that events should be processed soon.
func ReadsMemory(s *event.Schema, wanted []event.Member) bool {
	want := map[event.Member]bool{}
	for _, f := range wanted {
		want[f] = true
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Member >= event.MemberArg && want[f.Member] && slices.Contains(f.Uses(), event.MemberTID) {
			return true
		}
	}
	return false
}
