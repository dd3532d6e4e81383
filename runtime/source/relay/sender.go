package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/identity"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// defaultBytes bounds the memory for slow receivers.
const defaultBytes = 8 << 20

// Options of a Sender.
type Options struct {
	// Bytes bounds the memory for all receivers together; 0 is defaultBytes.
	Bytes int
	// Token is the secret that sender and receivers must know, for addresses
	// where the kernel does not report their users.
	Token string
	// TLS authenticates both sides by certificates, and encrypts; for addresses of the
	// network. It may be nil.
	TLS *identity.Side
	// Admit bounds the time for a receiver's proof; 0 is admitTime.
	Admit time.Duration
	// Stall bounds the time in which a receiver reads nothing; 0 is stallTime.
	Stall time.Duration
	// Joined is called on another goroutine when a receiver has connected; may be
	// nil.
	Joined func()
	// Say gets messages about receivers that come and go; may be nil.
	Say func(format string, args ...any)
}

// A Sender sends events to one address: to each receiver that connects there, from
// that moment on.
type Sender struct {
	head  []byte
	end   []byte // the end mark
	opt   Options
	out   output
	batch []byte
	n     uint64 // events in batch
	first event.Time
	last  event.Time
	comms map[int32]string
	// alone says that receivers may get a piece without the earlier ones, so
	// that each piece has the names of its threads.
	alone bool
	form  form
	defs  *definitions // of stacks; nil if no event has a stack
	err   error

	reported bool // err was returned to the caller
}

// An output sends the pieces of a stream; each has whole records.
type output interface {
	// send sends a piece. It does not keep the piece's memory.
	send(p *piece) error
	// lost returns the number of events that were dropped for lack of memory.
	lost() uint64
	// asking reports that some receiver needs rounds while there are no events.
	asking() bool
	close() error
}

// newTokenHint is the hint for an address that needs a token.
const newTokenHint = "set the same secret on both sides: export PPSCRIPT_TOKEN=$(od -An -tx8 -N16 /dev/urandom | tr -d ' '); " +
	"or use TLS: ppscript tls new NAME; or stay on this machine: push=PORT"

// NewSender opens an address for sending events of the streams.
func NewSender(ctx context.Context, to string, streams []perfdata.StreamInfo, about perfdata.WriteOptions,
	opt Options) (*Sender, error) {
	if opt.Bytes <= 0 {
		opt.Bytes = defaultBytes
	}
	if opt.Say == nil {
		opt.Say = func(string, ...any) {}
	}
	a, err := parse(to)
	if err != nil {
		return nil, err
	}
	if opt.Stall <= 0 {
		opt.Stall = stallTime
	}
	if opt.Admit <= 0 {
		opt.Admit = admitTime
	}
	if a.needsToken() && opt.Token == "" && opt.TLS == nil {
		return nil, diag.Errorf(diag.Usage, "push", to,
			"other users can connect there, and there is no token").
			WithHint("%s", newTokenHint)
	}
	s := &Sender{opt: opt, comms: map[int32]string{}, form: formOf(streams)}
	if s.head, err = perfdata.PipeHead(streams, about); err != nil {
		return nil, err
	}
	s.end = perfdata.AppendEnd(nil, streams)
	for i := range streams {
		if id := streams[i].IDs[0]; s.form.stacks[id] {
			s.head = appendUpdate(s.head, id, nil)
			if s.defs == nil {
				s.defs = newDefinitions(id, min(opt.Bytes/4, maxDefinitions))
			}
		}
	}
	// The first record that is no description tells readers that the
	// description is complete.
	s.head = perfdata.AppendRound(s.head)
	s.alone = a.kind != file
	switch a.kind {
	case file:
		s.out, err = createFile(ctx, a.text, s.head)
	case device:
		s.out, err = openDevice(a.text, s)
	default:
		s.out, err = listen(ctx, a, s)
	}
	return s, err
}

// maxBatch is the size in bytes at which a batch is sent before the round ends.
const maxBatch = 256 << 10

// maxDefinitions bounds the definitions of stacks that a receiver must keep.
const maxDefinitions = 4 << 20

// maxComms bounds the number of remembered names of threads.
const maxComms = 1 << 16

// Stack returns the number of a stack for Send. It is valid as long as Knows
// reports true.
func (s *Sender) Stack(st *Stack) uint64 {
	if s.defs.full() {
		s.flush() // its events refer to the epoch that ends
		s.defs.begin()
	}
	return s.defs.stack(st)
}

// Knows reports that the number of a stack is still valid for Send.
func (s *Sender) Knows(number uint64) bool { return s.defs.knows(number) }

// Send sends a sample of stream id. comm is the name of its thread, stack the
// number of its stack, 0 without a stack.
func (s *Sender) Send(id uint64, e *event.Event, period uint64, comm string, stack uint64) {
	if s.n == 0 {
		s.first = e.Time
	}
	if have, ok := s.comms[e.TID]; !ok || have != comm {
		if len(s.comms) >= maxComms {
			clear(s.comms)
		}
		s.comms[e.TID] = comm
		s.batch = s.form.appendComm(s.batch, e.PID, e.TID, comm, e.Time)
	}
	var ok bool
	s.batch, ok = s.form.appendSample(s.batch, id, e, period, stack)
	if !ok {
		s.batch = s.form.appendLost(s.batch, 1, e.Time)
	}
	s.n++
	s.last = max(s.last, e.Time)
	if len(s.batch) >= maxBatch {
		s.flush()
	}
}

// Lost sends a record of n lost events.
func (s *Sender) Lost(n uint64, t event.Time) {
	s.batch = s.form.appendLost(s.batch, n, max(t, s.last))
}

// Round ends and sends a batch. No events older than now will be sent later.
func (s *Sender) Round(now event.Time) error {
	s.last = max(s.last, now)
	pid := int32(os.Getpid())
	s.batch = s.form.appendComm(s.batch, pid, pid, "ppscript", s.last)
	// Receivers show events before the last round but one: two rounds show all.
	s.batch = perfdata.AppendRound(perfdata.AppendRound(s.batch))
	s.flush()
	return s.failure()
}

// failure returns the error of sending, but only once: the caller that gets it
// ends the run.
func (s *Sender) failure() error {
	if s.reported {
		return nil
	}
	s.reported = s.err != nil
	return s.err
}

func (s *Sender) flush() {
	p := piece{records: s.batch, events: s.n, first: s.first}
	if s.defs != nil {
		p.defs, p.epoch = s.defs.records(), s.defs.epoch
	}
	if err := s.out.send(&p); err != nil && s.err == nil {
		s.err = err
	}
	s.batch, s.n = s.batch[:0], 0
	if s.alone {
		clear(s.comms)
	}
}

// Dropped returns the number of events that slow receivers did not get.
func (s *Sender) Dropped() uint64 { return s.out.lost() }

// joined calls Options.Joined, if set.
func (s *Sender) joined() {
	if s.opt.Joined != nil {
		s.opt.Joined()
	}
}

// Asking reports that some receiver needs rounds while there are no events, since it
// may merge them with others, which it holds back until then.
func (s *Sender) Asking() bool { return s.out.asking() }

// Close sends the rest and ends the stream.
func (s *Sender) Close() error {
	s.batch = append(s.batch, s.end...)
	s.flush()
	return errors.Join(s.failure(), s.out.close())
}

// A stream is an output to a file, which loses nothing.
type stream struct {
	path string
	w    io.WriteCloser
	defs defsPosition
}

func createFile(ctx context.Context, path string, head []byte) (*stream, error) {
	f, err := outfile.Open(ctx, path, os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "push", path, "%w", diag.Reason(err)).
			WithHint("give a file in a directory that can be written to")
	}
	o := &stream{path: path, w: f}
	return o, o.send(&piece{records: head})
}

func (o *stream) send(p *piece) error {
	for _, b := range [][]byte{o.defs.missing(p), p.records} {
		if len(b) == 0 {
			continue
		}
		if _, err := o.w.Write(b); err != nil {
			return diag.Errorf(diag.Run, "push", o.path, "%w", diag.Reason(err)).
				WithHint("what is in the file is whole up to there; is there room? df %s", o.path)
		}
	}
	o.defs.have(p, 0)
	return nil
}

func (o *stream) lost() uint64 { return 0 }
func (o *stream) asking() bool { return true }
func (o *stream) close() error { return o.w.Close() }
