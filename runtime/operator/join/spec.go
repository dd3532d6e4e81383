package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/system/memory"
)

// A Spec describes a Join.
type Spec struct {
	// In has the role of each stream, by stream index.
	In []In
	// Pairs are the streams of the pairs, by start and end stream index; nil
	// where the two make no pair.
	Pairs [][]*event.Stream
	// Nested says that entries and returns nest as calls do: this is the Spec of a Nested.
	Nested bool
	// Cycle makes the last stage precede the first.
	Cycle bool
	// ByRing says that pairs never span rings, so that a loss in one leaves
	// the others alone.
	ByRing bool
	// ByThread says that all keys are the number of the running thread.
	ByThread bool
	// NeedKey fills the pair's key slot.
	NeedKey bool
	Bounds
	// KeepRaw is the number of bytes of a waiting event's record that are kept;
	// negative keeps the whole sample.
	KeepRaw int
	// Timeline takes all events, for operators that show the events during
	// a pair; nil if there is none.
	Timeline *Timeline
	// LossEnd returns when the last loss of a ring ended; nil if nobody
	// knows.
	LossEnd func(ring int32) event.Time
	// Opens get the begins and ends of pairs.
	Opens []flow.Opens
	Unpaired
}

// Bounds limit the events that wait; beyond them the oldest is evicted.
type Bounds struct {
	// Limit bounds the number of waiting events, LimitBytes their memory;
	// 0 is defaultLimit and defaultBytes.
	Limit      int
	LimitBytes int
	// Memory bounds them too, unless it is nil.
	Memory *memory.Budget
}

// Unpaired says which events without a partner are handed out.
type Unpaired struct {
	// Streams are the streams of the unpaired events, by the index of the input
	// stream; nil if these are not wanted. The events go to LeftTo.
	Streams []*event.Stream
	To      flow.Sink
	// WithWaiting also hands out the waiting events whenever an interval ends.
	WithWaiting bool
}

// Forgets reports that a join must be told of threads that begin and end, so
// that it can drop the waiting events of ended threads.
func (s *Spec) Forgets() bool { return s.ByThread && s.Streams == nil && s.integer() }

// integer reports that all keys are numbers.
func (s *Spec) integer() bool {
	for _, in := range s.In {
		if in.Stage >= 0 && !in.Untraced && in.Key != nil && !in.Key.Type.Numeric() {
			return false
		}
	}
	return true
}

// In is the role of a stream in a join.
type In struct {
	// Stage is the place in the chain; negative for streams that do not
	// arrive, and for streams that only the timeline wants.
	Stage int
	// Return marks the ends of a Nested, whose stages are pairs.
	Return bool
	// Untraced events go to the timeline and nowhere else.
	Untraced bool
	// Apart keeps the events out of the timeline.
	Apart bool
	// Key relates the events. Untraced events may have none.
	Key *expr.Program
	// Role computes, for each event, whether it may be a start (bit 0) or an
	// end (bit 1); nil allows both. It can only restrict the Stage.
	Role *expr.Program
	// Wakeup marks sched_wakeup events, some of which are never followed by
	// their task being switched in.
	Wakeup *Wakeup
	// NextPID is the field of sched_switch events that come unfiltered: with
	// them it is known which thread runs on which CPU.
	NextPID *event.Field
}

// Wakeup has the fields of a wakeup event.
type Wakeup struct {
	PID, CPU *event.Field
}

// The bounds of a Spec that has none: with 250 bytes each, a million events.
const (
	defaultLimit = 1 << 20
	defaultBytes = 256 << 20
)

// Stats counts events by how they left the join.
type Stats struct {
	Pairs       uint64
	Replaced    uint64 // starts that gave way to a newer one of the same key
	Cancelled   uint64 // starts taken away by an event that makes no pair with them
	EndsAlone   uint64 // ends that nothing waited for
	Broken      uint64 // starts discarded because of a loss
	InLoss      uint64 // events inside a loss, which neither start nor end anything
	Evicted     uint64 // starts pushed out by a bound
	Unnecessary uint64 // wakeups of tasks that were not asleep
	Orphaned    uint64 // starts of threads that ended
	Waiting     int    // starts that wait now
	WaitingPeak int
	Bytes       int // of the waiting events
}

// A Reason is why an event stays without a partner.
type Reason uint8

const (
	Replaced  Reason = iota // a newer start of its key came
	Cancelled               // an event came that makes no pair with it
	Alone                   // an end that nothing waited for
	Broken                  // a loss may hide its end
	Evicted                 // a bound was hit
	Waits                   // an interval ended, it still waits
	Exit                    // the run ended
)

var reasonNames = [...]string{"replaced", "cancelled", "alone", "lost", "evicted", "waiting", "exit"}

func (r Reason) String() string { return reasonNames[r] }

// reasonValues are the same as values, made once.
var reasonValues = func() (vs [len(reasonNames)]event.Value) {
	for i, n := range reasonNames {
		vs[i] = event.StrOf(n)
	}
	return vs
}()
