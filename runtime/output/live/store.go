package live

import (
	"bytes"
	"maps"
	"sync"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/why/story"
)

const (
	// maxIntervals and maxIntervalBytes bound the number and the compressed size of
	// the kept intervals.
	maxIntervals     = 600
	maxIntervalBytes = 24 << 20
	// refreshTime is the time after which a run without intervals shows the stacks of
	// its lines again.
	refreshTime = time.Second
)

// A Store keeps the data of a run for pages. One goroutine calls its methods of a
// renderer; any number of other goroutines read it.
type Store struct {
	now func() time.Time

	// For the goroutine that renders.
	frame  *builder // the frame that is being made
	record recorder // makes single records
	budget *budget  // of lines of events
	pairs  *budget  // of bytes of details
	tree   *sampler // stacks of lines of events

	mu sync.Mutex // protects the following members
	origin
	history history
	lists
	total   map[string]uint64 // events lost since the start, by kind of loss
	state   State
	changed chan struct{} // closed at the next change
}

// origin describes the begin of the run.
type origin struct {
	about output.About
	began time.Time
	cpu   int64 // ns of CPU time that this process had used before
}

// lists has the records that come singly: lines of events, slow pairs, notes.
type lists struct{ lines, details, notes list }

// State is the progress of a run.
type State struct {
	Oldest   int  `json:"oldest"` // number of the first kept interval
	Newest   int  `json:"newest"` // number of the last interval; 0 before the first
	Events   int  `json:"events"` // numbers of lines, pairs and notes so far
	Details  int  `json:"details"`
	Messages int  `json:"messages"`
	Ended    bool `json:"ended"`
	// Samples is the number of events seen since the start, and Loss the number of
	// missing events by kind.
	Samples uint64            `json:"samples"`
	Loss    map[string]uint64 `json:"loss"`
}

// NewStore makes a Store. now is the clock for bounds per time.
func NewStore(now func() time.Time) *Store {
	return &Store{
		now: now, changed: make(chan struct{}),
		lists: lists{list{most: 1000, mostBytes: 2 << 20}, list{most: 200, mostBytes: 16 << 20},
			list{most: 500, mostBytes: 1 << 20}},
		total: map[string]uint64{}, tree: &sampler{},
		budget: &budget{now: now, each: linesEach}, pairs: &budget{now: now, each: pairBytes},
	}
}

// Begin implements output.Sink: it is called before the first event.
func (s *Store) Begin(about output.About) (err error) {
	if s.record, err = newRecorder(about); err != nil {
		return err
	}
	s.frame, err = newBuilder(about)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.about, s.began, s.cpu = about, s.now(), cpuTime()
	return err
}

// Show implements render.Renderer. Explanations of slow spans become tables.
func (s *Store) Show(r result.Result) error {
	switch r := r.(type) {
	case *result.Why:
		for _, t := range story.Tables(r) {
			if err := s.Show(t); err != nil {
				return err
			}
		}
		return nil
	case *result.Line:
		return s.line(r)
	case *result.Detail:
		return s.detail(r)
	case *result.Text:
		return s.Note("message", render.NoteField{Name: "text", Value: event.StrOf(string(r.Bytes))})
	}
	s.frame.meta(r.About())
	return s.frame.json.Show(r)
}

// pairBytes bounds the bytes of slow pairs that are kept of each tenth of a
// second.
const pairBytes = 1 << 20

// line keeps an event, unless the budget is used up. Its stack is counted in any case.
func (s *Store) line(l *result.Line) error {
	if l.Stacks && len(l.Frames) > 0 {
		s.tree.add(l)
	}
	if !s.budget.take() {
		s.mu.Lock()
		s.lines.skip()
		s.mu.Unlock()
		return nil
	}
	text, err := s.record.of(func(to render.Renderer) error { return to.Show(l) })
	return s.keep(&s.lines, text, 0, err)
}

func (s *Store) detail(d *result.Detail) error {
	if !s.pairs.takes() && !s.slowest(d.DelayNS()) {
		s.mu.Lock()
		s.details.skip()
		s.mu.Unlock()
		return nil
	}
	text, err := s.record.of(func(to render.Renderer) error { return to.Show(d) })
	s.pairs.remaining -= len(text)
	return s.keep(&s.details, text, d.DelayNS(), err)
}

// slowest reports whether a pair is slower than all kept pairs.
func (s *Store) slowest(delay int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.details.items {
		if s.details.items[i].weight >= delay {
			return false
		}
	}
	return true
}

// Note implements render.Renderer.
func (s *Store) Note(kind string, fields ...render.NoteField) error {
	text, err := s.record.of(func(to render.Renderer) error { return to.Note(kind, fields...) })
	return s.keep(&s.notes, text, 0, err)
}

func (s *Store) keep(to *list, text []byte, weight int64, err error) error {
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		to.add(bytes.Clone(text), weight)
	}
	return err
}

// Flush implements render.Renderer: it ends the frame of an interval.
func (s *Store) Flush() error {
	if err := s.showTree(false); err != nil {
		return err
	}
	f, err := s.frame.end()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f != nil {
		s.state.Samples = max(s.state.Samples, f.samples)
		if f.whole && s.history.last > 0 { // a result of the whole run repeats the losses of intervals
			for kind, n := range f.loss {
				s.total[kind] = max(s.total[kind], n)
			}
		} else {
			for kind, n := range f.loss {
				s.total[kind] += n
			}
		}
		s.history.add(f)
	}
	if s.turn() {
		s.wake()
	}
	return nil
}

// showTree shows the stacks of lines as a result: of the interval at its end, or,
// without intervals, of the run so far after each refreshTime.
func (s *Store) showTree(final bool) error {
	st := s.tree.due(s.now(), s.about.Interval, final)
	if st == nil {
		return nil
	}
	s.frame.fleeting = s.about.Interval == 0 && !s.frame.some
	return s.Show(st)
}

// turn updates the state, and reports whether it changed.
func (s *Store) turn() bool {
	before := s.state
	s.state.Oldest, s.state.Newest = s.history.first(), s.history.last
	s.state.Events, s.state.Details, s.state.Messages = s.lines.total, s.details.total, s.notes.total
	s.state.Loss = before.Loss
	if s.state.Newest != before.Newest || before.Loss == nil {
		s.state.Loss = maps.Clone(s.total)
		return true
	}
	return s.state.Events != before.Events || s.state.Details != before.Details ||
		s.state.Messages != before.Messages || s.state.Ended != before.Ended
}

func (s *Store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// End marks the end of the run.
func (s *Store) End() error {
	var err error
	if s.frame != nil {
		if err = s.showTree(true); err == nil {
			err = s.Flush()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	s.state.Ended = true
	s.wake()
	return err
}

// State returns the state of the run, and a channel that is closed at the next
// change.
func (s *Store) State() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed
}
