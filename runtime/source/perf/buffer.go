package perf

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/record/ringbuf"
	"ppscript/runtime/record/sent"
	"ppscript/runtime/system/poll"
)

// This file reads the BPF ring buffers through which programs send compact
// records. A record has a header of the kernel, and then the program's data,
// whose layout is in package sent.

// A buffer is one mapped ring buffer. Positions are the kernel's own.
type buffer struct {
	ringbuf.Pages
	bounds

	rows   []*sent.Rows // by index in Config.Events, then in Programs.Records
	untold func() uint64

	index, cpu int32
	prev       event.Time
	tight      bool
	final      uint64 // number of records that were lost after the last record that was sent
	reported   bool   // the loss of final was reported

	stat RingStats
}

// openBuffers makes the buffers of compact events, one for each CPU.
func (s *Source) openBuffers() error {
	if !s.cfg.projected() {
		return nil
	}
	for _, key := range s.att.rings {
		if err := s.openBuffer(key.cpu); err != nil {
			return err
		}
	}
	if s.cfg.Programs.Late != nil {
		if fd, size, ok := s.cfg.Programs.Late(); ok {
			return s.late.Open(fd, size)
		}
	}
	return nil
}

func (s *Source) openBuffer(cpu int) error {
	size := s.cfg.dataSize()
	fd, err := s.cfg.Programs.Buffer(cpu, size, s.cfg.buffered())
	if err != nil {
		return err
	}
	b, err := mapBuffer(fd, size)
	if err != nil {
		return fmt.Errorf("map the buffer of CPU %d: %w", cpu, err)
	}
	s.buffers = append(s.buffers, b)
	b.index, b.cpu, b.stat.CPU = int32(len(s.rings)), int32(cpu), cpu
	s.rings = append(s.rings, b)
	for i, st := range s.byEvent {
		b.rows = append(b.rows, sent.NewOwn(s.cfg.Events[i].Projection, st))
	}
	for i, st := range s.byRecord {
		b.rows = append(b.rows, sent.NewRows(&s.cfg.Programs.Records[i], st, s.byEvent))
	}
	b.untold = func() uint64 {
		n, err := s.cfg.Programs.Untold(cpu)
		if err != nil {
			return 0
		}
		return n
	}
	if err := s.poll.Edge(fd, poll.Buffer); err != nil {
		return fmt.Errorf("watch the buffer of CPU %d: %w", cpu, err)
	}
	return nil
}

// buffered returns the number of waiting bytes at which a buffer wakes the
// reader.
func (c *Config) buffered() int {
	if c.Programs.Prompt {
		return 1
	}
	return c.wakeBytes()
}

// WakeBytes returns the number of waiting bytes at which a ring wakes Poll.
func (s *Source) WakeBytes() uint64 { return uint64(s.cfg.wakeBytes()) }

// wakeBytes returns the number of waiting bytes at which a ring wakes the
// reader.
func (c *Config) wakeBytes() int {
	if c.Prompt {
		return 1
	}
	return max(1, c.dataSize()/100*c.Watermark)
}

func mapBuffer(fd, size int) (*buffer, error) {
	mapped, err := ringbuf.Map(fd, size)
	return &buffer{Pages: mapped, stat: RingStats{TID: -1, SizeBytes: size}}, err
}

func (b *buffer) unmap() error {
	if b.Shared == nil {
		return nil
	}
	b.known, b.visible = b.pos, b.pos // nothing is left to read
	return b.Unmap()
}

// look moves the bounds, after the second look.
func (b *buffer) look(several bool) {
	if b.Shared == nil {
		return
	}
	b.visible = b.Head()
	b.known = b.first
	if !several {
		b.known = b.visible
	}
	b.tight = b.final == 0 && b.untold() != 0
	if b.final != 0 {
		b.visible++ // a position for the event that reports them
		b.known = b.visible
	}
	b.stat.PeakBytes = max(b.stat.PeakBytes, b.visible-b.pos)
}

// Tight reports that records were lost after the last visible one, without a
// record about the loss so far. Package order calls it.
func (b *buffer) Tight() bool { return b.tight }

// Release implements event.Ring.
func (b *buffer) Release() {
	if b.Consumer == nil {
		return
	}
	pos := b.pos
	if b.reported {
		pos--
	}
	b.Consume(pos)
	for _, s := range b.rows {
		s.Release()
	}
}

// Read implements event.Ring.
//
// Fast path: this loop runs for every record.
func (b *buffer) Read(dst []event.Event, until uint64) int {
	n := 0
	pos, end := b.pos, b.visible
	if b.final != 0 {
		end--
	}
	until = min(until, b.visible)
	for n < len(dst) && pos < until && pos < end {
		p := unsafe.Add(b.Data, pos&b.Mask)
		header := atomic.LoadUint32((*uint32)(p))
		if header&ringbuf.Busy != 0 {
			header = ringbuf.Written((*uint32)(p))
		}
		length := uint64(header &^ (ringbuf.Busy | ringbuf.Drop))
		if header&ringbuf.Busy != 0 || length < sent.HeadSize || length > end-pos {
			// The start of the next record is unknown.
			b.stat.Corrupt++
			pos = end
			break
		}
		pos += (length + ringbuf.Header + 7) &^ 7
		if header&ringbuf.Drop != 0 {
			continue
		}
		p = unsafe.Add(p, ringbuf.Header)
		e := &dst[n]
		rec := unsafe.Slice((*byte)(p), length)
		stream := load64(p, sent.HeadStream)
		b.prev = event.Time(load64(p, sent.HeadTime))
		if stream >= uint64(len(b.rows)) {
			if int64(stream) == sent.LossStream && length >= sent.LossSize {
				b.lost(e, load64(p, sent.HeadSize))
				n++
			} else {
				b.stat.Corrupt++
			}
			continue
		}
		e.Time, e.CPU, e.Ring = b.prev, b.cpu, b.index
		if b.rows[stream].Show(e, rec) {
			n++
		} else {
			b.stat.Corrupt++
		}
	}
	b.stat.Records += uint64(n)
	b.stat.Bytes += pos - b.pos
	b.pos = pos
	if b.final != 0 && !b.reported && n < len(dst) && pos == end && pos < until {
		b.lost(&dst[n], b.final)
		b.reported = true
		b.pos++
		n++
	}
	return n
}

// lost sets e to an event of count lost records.
func (b *buffer) lost(e *event.Event, count uint64) {
	*e = event.Event{
		Kind:  event.Lost,
		Time:  b.prev,
		PID:   -1,
		TID:   -1,
		CPU:   b.cpu,
		Ring:  b.index,
		Count: uint32(min(count, math.MaxUint32)),
	}
	b.stat.Lost += count
}
