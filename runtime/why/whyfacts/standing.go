package whyfacts

import (
	"bytes"
	"strconv"
	"strings"

	"ppscript/runtime/system/privilege"
	"ppscript/runtime/target/task"
	"ppscript/runtime/why"
)

// standing reads the current state of a thread on this machine; false if the thread has ended, or
// its state changed while it was read.
func standing(tid int32) (s why.Standing, ok bool) {
	dir := "/proc/" + strconv.Itoa(int(tid)) + "/"
	before, ok := switches(dir)
	if !ok || !before.Asleep {
		return before, ok
	}
	s = before
	s.Call = -1
	read := func(name string) string {
		text, _ := privilege.ReadFile(privilege.Processes, dir+name)
		return strings.TrimSpace(string(text))
	}
	// "202 0x7f.. 0x80 ...": the call and its arguments; "-1 ..." means no call,
	// "running" no known state.
	words := strings.Fields(read("syscall"))
	if ofKernel, _ := task.OfKernel(tid); len(words) > len(s.Args) && !ofKernel {
		if nr, err := strconv.ParseInt(words[0], 10, 64); err == nil && nr >= 0 {
			s.Call = nr
			for i := range s.Args {
				s.Args[i], _ = strconv.ParseUint(words[i+1], 0, 64)
			}
		}
	}
	if where := read("wchan"); where != "0" {
		s.Where = where
	}
	after, ok := switches(dir)
	return s, ok && after == before
}

// switches reads from /proc how often a thread left its CPU, and whether it
// sleeps.
func switches(dir string) (s why.Standing, ok bool) {
	text, err := privilege.ReadFile(privilege.Processes, dir+"status")
	if err != nil {
		return s, false
	}
	seen := 0
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); string(name) {
		case "State":
			s.Asleep = len(value) > 0 && bytes.IndexByte([]byte("SDI"), value[0]) >= 0
			seen++
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			n, err := strconv.ParseUint(string(value), 10, 64)
			if err != nil {
				return s, false
			}
			s.Switches += n
			seen++
		}
	}
	return s, seen == 3
}
