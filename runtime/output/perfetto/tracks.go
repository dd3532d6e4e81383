package perfetto

import (
	"strconv"

	"ppscript/runtime/result/timeline"
)

// describe writes the descriptor of a track at its first use, after the descriptor of its
// parent.
func (t *Writer) describe(at *timeline.Track) {
	if at.ID <= t.last {
		return
	}
	if at.Parent != nil {
		t.describe(at.Parent)
	}
	t.last = at.ID
	t.descriptor(at)
}

// Rename implements timeline.Writer.
func (t *Writer) Rename(at *timeline.Track) {
	if at.ID <= t.last && t.err == nil {
		t.descriptor(at)
	}
}

// descriptor writes the descriptor of a track. A thread with unknown process becomes a
// track with only a name, since viewers would assign it to process 0.
func (t *Writer) descriptor(at *timeline.Track) {
	d := appendUint(nil, 1, at.ID)
	switch {
	case at.Kind == timeline.OfThread && at.PID < 0:
		d = appendBytes(d, 2, "thread "+strconv.Itoa(int(at.TID))+" "+at.Name)
	case at.Kind == timeline.OfThread:
		th := appendInt(appendInt(nil, 1, int64(at.PID)), 2, int64(at.TID))
		if at.Name != "" {
			th = appendBytes(th, 5, at.Name)
		}
		d = appendBytes(d, 4, th)
		if at.PID == at.TID {
			t.process(at.PID, at.Name)
		}
	case at.Kind == timeline.OfCounter:
		d = appendBytes(appendBytes(d, 2, at.Name), 8, unitOf(at))
	default:
		d = appendBytes(d, 2, at.Name)
	}
	if at.Parent != nil {
		d = appendUint(d, 5, at.Parent.ID)
	}
	t.packet = appendBytes(t.packet[:0], packetTrack, d)
	t.put()
}

// processTracks is added to the pid for the number of a process's track; other tracks are
// numbered from 1.
const processTracks = 1 << 62

// process writes the name of a process, which is the name of its first thread.
func (t *Writer) process(pid int32, name string) {
	p := appendInt(nil, 1, int64(pid))
	if name != "" {
		p = appendBytes(p, 6, name)
	}
	t.packet = appendBytes(t.packet[:0], packetTrack,
		appendBytes(appendUint(nil, 1, processTracks+uint64(pid)), 3, p))
	t.put()
}

// unitOf returns the CounterDescriptor of a track.
func unitOf(at *timeline.Track) []byte {
	const timeNS, count, size = 1, 2, 3
	switch at.Unit.Base {
	case "ns":
		return appendUint(nil, 3, timeNS)
	case "B", "bytes":
		return appendUint(nil, 3, size)
	}
	return appendUint(nil, 3, count)
}
