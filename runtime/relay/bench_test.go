package relay

import (
	"testing"

	"ppscript/runtime/perfdata"
)

// The cost of an event for the sender: without a stack, with one that was
// sent before, and with a new one; bytes are those of the sample.
func BenchmarkSend(b *testing.B) {
	run := func(name string, infos []perfdata.StreamInfo, number func(s *Sender, n int) uint64) {
		b.Run(name, func(b *testing.B) {
			s := &Sender{
				out:   &stream{w: nowhere{}},
				comms: map[int32]string{},
				form:  formOf(infos),
				defs:  newDefinitions(1, maxDefinitions),
			}
			e := tick(1)
			b.ReportAllocs()
			for n := range b.N {
				s.Send(1, e, 1, "name", number(s, n))
			}
			if s.err != nil {
				b.Fatal(s.err)
			}
		})
	}
	run("none", streams(), func(*Sender, int) uint64 { return 0 })
	run("known", stackStreams(), func(*Sender, int) uint64 { return 1<<32 | 1 })
	run("new", stackStreams(), func(s *Sender, n int) uint64 { return s.Stack(callers(n)) })
}
