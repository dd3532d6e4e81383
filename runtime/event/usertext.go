package event

// Texts is implemented by Members whose samples may carry texts of the process:
// the text at an address of its memory when the event happened. Programs in the
// kernel send them (package bpf).
type Texts interface {
	// Text is the text at an address; ok is false if the sample carries none
	// of there. It is a view of e.Rec.
	Text(e *Event, addr uint64) (text []byte, ok bool)
}

// Arguments is implemented by Members whose samples may carry values that are computed
// of other sample members elsewhere (MemberArg), because programs of the kernel did so.
type Arguments interface {
	// Argument is the value; ok is false if there was none, sent if nobody sent any.
	Argument(e *Event, f Member) (v uint64, ok, sent bool)
}

// MemberTexts is implemented by Members whose samples may carry texts of the
// kernel's memory that programs read (MemberRead).
type MemberTexts interface {
	// MemberText is the text of a member; ok is false if the sample carries none.
	// It is a view of e.Rec.
	MemberText(e *Event, f Member) (text []byte, ok bool)
}

const (
	// UserTextLimit bounds a text of the process, in bytes; of a longer one,
	// the last three are dots.
	UserTextLimit = 255
	// UserTextFault stands for a text that could not be read: the address is
	// wrong, or its page is not in memory.
	UserTextFault = "<fault>"
)
