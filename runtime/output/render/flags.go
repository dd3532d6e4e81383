package render

import (
	"ppscript/runtime/event"
	"ppscript/runtime/text/plain"
)

// The bits of common_flags: must match enum trace_flag_type in
// include/linux/trace_events.h.
const (
	irqsOff         = 0x01
	needReschedLazy = 0x02
	needResched     = 0x04
	hardIRQ         = 0x08
	softIRQ         = 0x10
	preemptSched    = 0x20 // PREEMPT_RESCHED
	inNMI           = 0x40
	bhOff           = 0x80
)

// appendFlags appends the four latency flags of ftrace: interrupts,
// rescheduling, context, preemption depth.
func appendFlags(dst []byte, e *event.Event, s *lineSchema) []byte {
	flags, _ := s.flags.Int(e)
	depth := int64(0)
	if s.preempt != nil {
		depth, _ = s.preempt.Int(e)
	}
	dst = append(dst, irqLetter(flags), reschedLetter(flags), contextLetter(flags))
	if depth == 0 {
		return append(dst, '.')
	}
	// The low half is the preemption depth, the high half the migrate-disable
	// depth.
	if low := depth & 15; low != 0 {
		dst = append(dst, plain.Hex[low])
	}
	if high := depth >> 4 & 15; high != 0 {
		dst = append(dst, plain.Hex[high])
	}
	return dst
}

func irqLetter(flags int64) byte {
	switch flags & (irqsOff | bhOff) {
	case irqsOff | bhOff:
		return 'D'
	case irqsOff:
		return 'd'
	case bhOff:
		return 'b'
	}
	return '.'
}

func reschedLetter(flags int64) byte {
	switch flags & (needResched | needReschedLazy | preemptSched) {
	case needResched | needReschedLazy | preemptSched:
		return 'B'
	case needResched | preemptSched:
		return 'N'
	case needReschedLazy | preemptSched:
		return 'L'
	case needResched | needReschedLazy:
		return 'b'
	case needResched:
		return 'n'
	case preemptSched:
		return 'p'
	case needReschedLazy:
		return 'l'
	}
	return '.'
}

func contextLetter(flags int64) byte {
	switch hard := flags&hardIRQ != 0; {
	case flags&inNMI != 0 && hard:
		return 'Z'
	case flags&inNMI != 0:
		return 'z'
	case hard && flags&softIRQ != 0:
		return 'H'
	case hard:
		return 'h'
	case flags&softIRQ != 0:
		return 's'
	}
	return '.'
}
