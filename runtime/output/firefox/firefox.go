// Package firefox writes timelines in the processed format of the Firefox profiler,
// https://profiler.firefox.com, version 48: JSON with all names inside. The viewer brings
// it to its own version, and runs in the browser without a server.
//
// What is on the timeline becomes, for each thread:
//
//   - samples with stacks: its samples, each of weight 1
//   - slices, instants, wake-ups: markers, with the fields of their events and the stack of
//     their begin; one kind of marker for each kind of event
//   - a switch: a marker "on CPU" for the time that the thread ran, if its begin was seen
//
// Counters, the end of what runs still, flows, and the stack at the end of a slice have no
// place. What is missing stands in the profile's information. The form has its columns
// behind each other, so that all is in memory until the end: Most bounds it, and what
// comes later is counted.
package firefox

import (
	"bufio"
	"io"
	"slices"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/result/timeline"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// Most is how many samples and markers a file has.
const Most = 1 << 20

// A Writer collects a profile. It implements timeline.Writer.
type Writer struct {
	w       io.Writer
	opt     timeline.About
	room    room
	first   event.Time
	begun   bool
	threads threads
	kinds   kinds
	losses  []loss
	line    []*result.Frame
	libs    libs
}

// room bounds what is collected.
type room struct {
	most, used int
	dropped    uint64
}

// threads are the threads of the profile, by their tracks.
type threads struct {
	list     []*thread
	tracks   map[*timeline.Track]*thread
	byNumber map[int32]*thread // by number, while it lives
	running  map[int32]run     // by CPU
}

// kinds are the kinds of markers, by name and in the order in which they were seen.
type kinds struct {
	of   map[string]*kind
	list []*kind
}

// libs are the files that frames are of.
type libs struct {
	names  texts
	builds []string // by name
}

// A kind is the markers of one kind of event.
type kind struct {
	name   string
	fields []string      // names of arguments
	last   *timeline.Arg // the first of those that were looked at last
}

type loss struct {
	name string
	n    float64
}

type run struct {
	tid   int32
	since event.Time
}

// New makes a Writer. It writes when it is closed.
func New(w io.Writer, o timeline.About) *Writer {
	p := &Writer{w: w, opt: o, room: room{most: Most}, kinds: kinds{of: map[string]*kind{}}}
	p.threads = threads{tracks: map[*timeline.Track]*thread{}, byNumber: map[int32]*thread{},
		running: map[int32]run{}}
	return p
}

// Rename implements timeline.Writer.
func (p *Writer) Rename(t *timeline.Track) {
	if th := p.threads.tracks[t]; th != nil {
		th.name = t.Name
	}
}

// ForgetStacks implements timeline.Writer.
func (p *Writer) ForgetStacks() {
	for _, t := range p.threads.list {
		clear(t.stackIndex)
	}
}

// Flush implements timeline.Writer: nothing is written before the end.
func (p *Writer) Flush() error { return nil }

// Write implements timeline.Writer.
func (p *Writer) Write(it *timeline.Item) {
	if it.Kind == timeline.Counter {
		if at := it.Track.Parent; at != nil && at.Name == timeline.Missing {
			p.lost(it)
		}
		return // numbers of tables have no place
	}
	if p.room.used >= p.room.most {
		p.room.dropped++
		return
	}
	p.room.used++
	// Items come in the order of their ends: one may have begun before the first.
	if !p.begun || it.Time < p.first {
		p.begun, p.first = true, it.Time
	}
	switch it.Kind {
	case timeline.Sample:
		t := p.thread(it.Track)
		t.samples.add(it.Time, t.stack(p, it.Stack))
	case timeline.Switch:
		p.switched(it)
	case timeline.Slice:
		p.thread(it.Track).marker(p, it, it.Time, it.End)
	default:
		p.thread(it.Track).marker(p, it, it.Time, -1)
	}
}

func (p *Writer) lost(it *timeline.Item) {
	for i := range p.losses {
		if p.losses[i].name == it.Name {
			p.losses[i].n = it.Value
			return
		}
	}
	p.losses = append(p.losses, loss{it.Name, it.Value})
}

// switched ends the time of the thread that ran.
func (p *Writer) switched(it *timeline.Item) {
	s := &it.Sched
	was, seen := p.threads.running[s.CPU]
	p.threads.running[s.CPU] = run{int32(s.Next.TID), it.Time}
	if !seen || was.tid != int32(s.Prev.TID) || was.tid == 0 {
		return
	}
	t := p.threads.byNumber[was.tid]
	if t == nil {
		t = p.add(was.tid, it.Event.PID, string(plain.Append(nil, string(s.Prev.Comm))))
		p.threads.byNumber[was.tid] = t
	}
	ran := *it
	ran.Name, ran.Args, ran.Stack = "on CPU", nil, stack.None
	t.marker(p, &ran, was.since, it.Time)
}

// thread returns the thread of a track, or of the tracks above it; one for each other track without.
func (p *Writer) thread(at *timeline.Track) *thread {
	if t := p.threads.tracks[at]; t != nil {
		return t
	}
	var t *thread
	switch {
	case at.Kind == timeline.OfThread:
		// A switch may have shown it before, one that ended not.
		if t = p.threads.byNumber[at.TID]; t == nil || t.track != nil && t.track != at {
			t = p.add(at.TID, at.PID, at.Name)
			p.threads.byNumber[at.TID] = t
		}
		t.track, t.name = at, at.Name
	case at.Parent != nil && at.Kind == timeline.OfKey:
		t = p.thread(at.Parent)
	default:
		t = p.add(-1, -1, at.Name)
	}
	p.threads.tracks[at] = t
	return t
}

func (p *Writer) add(tid, pid int32, name string) *thread {
	t := &thread{tid: tid, pid: pid, name: name, stackIndex: map[stack.ID]int{}}
	p.threads.list = append(p.threads.list, t)
	return t
}

// kind returns the kind of a marker; it remembers what fields its markers have. Causes have names of any
// number: they get the kind of their track.
func (p *Writer) kind(it *timeline.Item) *kind {
	name := it.Name
	if it.Event == nil {
		name = it.Track.Name
	}
	k := p.kinds.of[name]
	if k == nil {
		k = &kind{name: name}
		p.kinds.of[name] = k
		p.kinds.list = append(p.kinds.list, k)
	}
	if len(it.Args) == 0 || k.last == &it.Args[0] {
		return k
	}
	// Streams of one name may have different fields.
	k.last = &it.Args[0]
	for i := range it.Args {
		if name := it.Args[i].Name; !slices.Contains(k.fields, name) {
			k.fields = append(k.fields, name)
		}
	}
	return k
}

// Close implements timeline.Writer.
func (p *Writer) Close() error {
	out := &printer{w: bufio.NewWriterSize(p.w, 1<<18)}
	p.print(out)
	if out.w.Flush() != nil || out.err != nil {
		if out.err == nil {
			out.err = out.w.Flush()
		}
		return &diag.Error{Op: "write", Subject: "firefox", Cause: out.err}
	}
	return nil
}

// Dropped is how many items the file has no room for.
func (p *Writer) Dropped() uint64 { return p.room.dropped }

// ms are the milliseconds from the beginning to a time.
func (p *Writer) ms(at event.Time) float64 { return float64(at-p.first) / 1e6 }

// key is the member of a marker's data that a field is. Names that the viewer, or a marker
// itself, uses for other things get a word before them.
func key(field string) string {
	switch field {
	case "type", "cause", "stack", "cpu", "woken", "category", "innerWindowID", "threadId":
		return "event." + field
	}
	return field
}

// appendArgs appends the fields of an event as members of an object. All are texts: the
// viewer's numbers have 53 bits.
func appendArgs(dst []byte, it *timeline.Item) []byte {
	for i := range it.Args {
		v := it.Args[i].Value(it.Event)
		var text []byte
		switch v.Kind {
		case timeline.NoArg:
			continue
		case timeline.ArrayArg:
			text = appendArray(nil, &v)
		case timeline.IntArg:
			text = strconv.AppendInt(nil, int64(v.Num), 10)
		case timeline.UintArg:
			text = strconv.AppendUint(nil, v.Num, 10)
		case timeline.FloatArg:
			text = strconv.AppendFloat(nil, v.Float(), 'g', -1, 64)
		case timeline.AddressArg:
			text = strconv.AppendUint([]byte("0x"), v.Num, 16)
		case timeline.TextArg:
			text = v.Text
		}
		dst = append(dst, ',')
		dst = appendString(dst, key(it.Args[i].Name))
		dst = append(dst, ':')
		dst = appendString(dst, string(plain.Append(nil, string(text))))
	}
	return dst
}

// appendArray appends an array as JSON has it.
func appendArray(dst []byte, v *timeline.ArgValue) []byte {
	dst = append(dst, '[')
	v.Elements(func(n int64, signed bool) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		if signed {
			dst = strconv.AppendInt(dst, n, 10)
		} else {
			dst = strconv.AppendUint(dst, uint64(n), 10)
		}
	})
	return append(dst, ']')
}
