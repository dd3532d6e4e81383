package event

// Texts is implemented by Members whose samples may carry texts from the memory
// of the process, read by programs in the kernel when the event happened
// (package bpf).
type Texts interface {
	// Text is the text at an address; ok is false if the sample does not carry
	// it. It is a view of e.Rec.
	Text(e *Event, addr uint64) (text []byte, ok bool)
}

// Arguments is implemented by Members whose samples may carry arguments of probes
// (MemberArg), computed by programs of the kernel.
type Arguments interface {
	// Argument is the value of a MemberArg. sent is false if no program sent it, so
	// that it has to be computed from the sample; ok is false if it could not be
	// read.
	Argument(e *Event, f Member) (v uint64, ok, sent bool)
}

// MemberTexts is implemented by Members whose samples may carry texts that
// programs read from the kernel's memory (MemberRead).
type MemberTexts interface {
	// MemberText is the text of a member; ok is false if the sample carries none.
	// It is a view of e.Rec.
	MemberText(e *Event, f Member) (text []byte, ok bool)
}

const (
	// UserTextLimit bounds a text of the process, in bytes. A longer text is
	// cut, and ends in three dots.
	UserTextLimit = 255
	// UserTextFault stands for a text that could not be read: the address is
	// wrong, or its page is not in memory.
	UserTextFault = "<fault>"
)
