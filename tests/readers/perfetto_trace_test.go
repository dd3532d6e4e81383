package readers

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

// A slice is a slice of a trace.
type slice struct {
	name       string
	track      uint64
	begin, end int64
	args       map[string]string
	stack      []string // outermost first
}

// A trace has the data that a viewer would see in a Perfetto trace. Reading one fails
// where the viewer would have to guess: at a track that is not described, a number that
// refers to nothing, slices that do not end, or times that go back on a track.
type trace struct {
	slices, instants []slice
	samples          []slice
	tracks           map[uint64]message
	switches, wakes  []message // FtraceEvent, with the CPU as field 0
	counters         map[string]float64
	series           map[string][]point // of counters, by GROUP/NAME
	timebase         string             // unit of the samples' weights
	counted          map[uint64]uint64  // sum of the weights by CPU, up to the last sample
	leads, follows   map[uint64]int64   // times at which flows begin and end
	clocks           map[uint64]int64
	release          string

	names map[int]map[uint64]string // interned, by field of InternedData
	lists map[int]map[uint64]message
	open  map[uint64][]int // open slices by track
	last  map[uint64]int64
}

// A point is the value of a counter from a time on.
type point struct {
	at    int64
	value float64
}

func readTrace(t *testing.T, path string) *trace {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &trace{
		tracks: map[uint64]message{}, counters: map[string]float64{}, clocks: map[uint64]int64{},
		leads: map[uint64]int64{}, follows: map[uint64]int64{}, series: map[string][]point{},
		counted: map[uint64]uint64{},
		names:   map[int]map[uint64]string{}, lists: map[int]map[uint64]message{},
		open: map[uint64][]int{}, last: map[uint64]int64{},
	}
	m, err := parse(data)
	if err == nil {
		err = m.each(1, r.packet)
	}
	for track, open := range r.open {
		if err == nil && len(open) > 0 {
			err = fmt.Errorf("%d slices of track %d do not end", len(open), track)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

func (r *trace) packet(p message) error {
	if p.num(10) == 0 {
		return fmt.Errorf("packet %v is of no sequence", p)
	}
	if p.num(13)&1 != 0 {
		r.names, r.lists = map[int]map[uint64]string{}, map[int]map[uint64]message{}
		r.timebase = ""
	}
	if err := p.each(12, r.intern); err != nil {
		return err
	}
	for field, fn := range map[int]func(message) error{
		1: r.bundle, 6: r.snapshot, 59: r.defaults, 45: r.system, 60: r.describe,
		11: func(ev message) error { return r.event(int64(p.num(8)), ev) },
		66: func(s message) error { return r.sample(int64(p.num(8)), s) },
	} {
		if err := p.each(field, fn); err != nil {
			return err
		}
	}
	return nil
}

func (r *trace) intern(m message) error {
	for field := range m {
		err := m.each(field, func(x message) error {
			iid := x.num(1)
			if r.names[field] == nil {
				r.names[field], r.lists[field] = map[uint64]string{}, map[uint64]message{}
			}
			if old, is := r.lists[field][iid]; is && fmt.Sprint(old) != fmt.Sprint(x) {
				return fmt.Errorf("interned %d %d: got %v, was %v", field, iid, x, old)
			}
			r.names[field][iid], r.lists[field][iid] = x.text(2), x
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *trace) name(field int, iid uint64) (string, error) {
	name, ok := r.names[field][iid]
	if !ok {
		return "", fmt.Errorf("interned %d: nothing has the number %d", field, iid)
	}
	return name, nil
}

func (r *trace) snapshot(m message) error {
	return m.each(1, func(c message) error {
		r.clocks[c.num(1)] = int64(c.num(2))
		return nil
	})
}

func (r *trace) system(m message) error {
	return m.each(1, func(u message) error {
		r.release = u.text(3)
		return nil
	})
}

func (r *trace) describe(d message) error {
	if parent := d.num(5); parent != 0 && r.tracks[parent] == nil {
		return fmt.Errorf("track %d: its parent %d is not described", d.num(1), parent)
	}
	r.tracks[d.num(1)] = d
	return nil
}

func (r *trace) bundle(b message) error {
	return b.each(2, func(e message) error {
		e[0] = []any{b.num(1)}
		switch {
		case e[4] != nil:
			r.switches = append(r.switches, e)
		case e[17] != nil, e[20] != nil, e[114] != nil:
			r.wakes = append(r.wakes, e)
		default:
			return fmt.Errorf("unknown event of the kernel: %v", e)
		}
		return nil
	})
}

func (r *trace) event(at int64, e message) error {
	track := e.num(11)
	if r.tracks[track] == nil {
		return fmt.Errorf("track %d is not described", track)
	}
	if at < r.last[track] {
		return fmt.Errorf("track %d: %d comes behind %d", track, at, r.last[track])
	}
	r.last[track] = at
	s := slice{track: track, begin: at, end: at, args: map[string]string{}}
	var err error
	if iid := e.num(56); iid != 0 {
		if s.stack, err = r.stack(iid); err != nil {
			return err
		}
	}
	switch kind := e.num(9); kind {
	case 2:
		open := r.open[track]
		if len(open) == 0 {
			return fmt.Errorf("track %d: an end without begin at %d", track, at)
		}
		r.slices[open[len(open)-1]].end = at
		r.open[track] = open[:len(open)-1]
		return nil
	case 4:
		name, v := r.tracks[track].text(2), math.Float64frombits(e.num(44))
		r.counters[name] = v
		name = r.tracks[r.tracks[track].num(5)].text(2) + "/" + name
		r.series[name] = append(r.series[name], point{at, v})
		return nil
	case 1, 3:
		if s.name, err = r.name(2, e.num(10)); err != nil {
			return err
		}
		for _, id := range e[47] {
			r.leads[id.(uint64)] = at
		}
		for _, id := range e[48] {
			r.follows[id.(uint64)] = at
		}
		if err := e.each(4, func(a message) error { return r.arg(s.args, a) }); err != nil {
			return err
		}
		if kind == 3 {
			r.instants = append(r.instants, s)
			return nil
		}
		r.open[track] = append(r.open[track], len(r.slices))
		r.slices = append(r.slices, s)
		return nil
	default:
		return fmt.Errorf("event of type %d", kind)
	}
}

func (r *trace) arg(args map[string]string, a message) error {
	name, err := r.name(3, a.num(1))
	switch {
	case a[3] != nil || a[7] != nil:
		args[name] = strconv.FormatUint(a.num(3)|a.num(7), 10)
	case a[4] != nil:
		args[name] = strconv.FormatInt(int64(a.num(4)), 10)
	case a[5] != nil:
		args[name] = strconv.FormatFloat(math.Float64frombits(a.num(5)), 'g', -1, 64)
	case a[6] != nil:
		args[name] = a.text(6)
	case a[8] != nil:
		var list []string
		err2 := a.each(8, func(v message) error {
			if v.num(1) != 2 {
				return fmt.Errorf("argument %s is no array: %v", name, v)
			}
			return v.each(4, func(x message) error {
				if list = append(list, strconv.FormatInt(int64(x.num(5)), 10)); x[8] != nil {
					list[len(list)-1] = x.text(8)
				}
				return nil
			})
		})
		if err2 != nil {
			return err2
		}
		args[name] = fmt.Sprint(list)
	default:
		return fmt.Errorf("argument %s has no value: %v", name, a)
	}
	return err
}

func (r *trace) stack(iid uint64) (names []string, err error) {
	s := r.lists[7][iid]
	if s == nil {
		return nil, fmt.Errorf("no stack has the number %d", iid)
	}
	for _, id := range s[2] {
		f := r.lists[6][id.(uint64)]
		if f == nil || r.lists[19][f.num(3)] == nil {
			return nil, fmt.Errorf("frame %d, or its mapping, is not there", id)
		}
		name, err := r.name(5, f.num(2))
		if err != nil {
			return nil, err
		}
		if _, err := r.name(17, r.lists[19][f.num(3)].num(7)); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func (r *trace) defaults(m message) error {
	return m.each(12, func(s message) error {
		return s.each(1, func(base message) error {
			r.timebase = base.text(10)
			return nil
		})
	})
}

func (r *trace) sample(at int64, s message) error {
	stack, err := r.stack(s.num(4))
	r.samples = append(r.samples, slice{track: s.num(3), begin: at, end: at, stack: stack})
	if n := s.num(6); n != 0 {
		if r.timebase == "" || n < r.counted[s.num(1)] {
			return fmt.Errorf("sample at %d: CPU %d counted %d of %q, and %d before", at, s.num(1), n,
				r.timebase, r.counted[s.num(1)])
		}
		r.counted[s.num(1)] = n
	}
	return err
}
