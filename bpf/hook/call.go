package hook

import (
	"strings"

	"ppscript/runtime/event"
)

// This file tells the tracepoints at the begin and at the end of system calls.

// BeginsCall reports that the event is the begin of a system call, whose end sees its
// texts again.
func BeginsCall(s *event.Schema) bool {
	return s.FullName() == "raw_syscalls:sys_enter" ||
		s.System == "syscalls" && strings.HasPrefix(s.Name, "sys_enter_")
}

// EndsCall reports that the event is the end of a system call.
func EndsCall(s *event.Schema) bool {
	return s.FullName() == "raw_syscalls:sys_exit" ||
		s.System == "syscalls" && strings.HasPrefix(s.Name, "sys_exit_")
}
