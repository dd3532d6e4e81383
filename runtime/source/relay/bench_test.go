package relay

import (
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/identity"
	"ppscript/runtime/source/perfdata"
)

// The cost of an event for the sender: without a stack, with one that was
// sent before, and with a new one; bytes is the size of the sample.
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

// The way of 1,000 events from a sender to a receiver over a connection of the machine itself, in
// the clear and over TLS.
func BenchmarkWire(b *testing.B) {
	now := time.Now()
	x, y := newParty(b, identity.CertRequest{Name: "a"}, now), newParty(b, identity.CertRequest{Name: "b"},
		now)
	run := func(name string, of, to *identity.Side) {
		b.Run(name, func(b *testing.B) {
			const events = 1000
			s, log := sender(b, "127.0.0.1:0", Options{TLS: of, Token: "secret"})
			f, err := Receive(b.Context(), log.at(b), How{TLS: to, Token: "secret"})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			defer s.Close()
			log.await(b, "connected", 1)
			var buf [256]event.Event
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				for range events {
					n++
					s.Send(1, tick(n), 1, "name", 0)
				}
				if err := s.Round(tick(n).Time); err != nil {
					b.Fatal(err)
				}
				for got := 0; got < events; {
					if err := f.Poll(b.Context(), time.Second); err != nil {
						b.Fatal(err)
					}
					for _, r := range f.Rings() {
						_, visible := r.Bounds()
						for r.Pos() < visible {
							for _, e := range buf[:r.Read(buf[:], visible)] {
								if e.Kind == event.Sample {
									got++
								}
							}
							r.Release()
						}
					}
				}
			}
		})
	}
	run("plain", nil, nil)
	run("tls", x.believing(b, y), y.believing(b, x))
}
