package budget

import (
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
)

// A tap lets a Governor leave out events and read how many there were.
type tap interface {
	// ByKey says that some operator relates events.
	ByKey() bool
	// inPerson says that ppscript itself gets the events, so that its own time grows with them.
	// Then it can only switch them all off for a while.
	inPerson() bool
	// begin is called when the run begins.
	begin()
	// Weigh makes each counted event stand for n; with 0 no event counts. It returns the time
	// of the change.
	Weigh(n uint64) (time.Time, error)
	Hits() (load.Hits, error)
	// clock is the cost of reading the time, which the measured times of hits
	// include.
	clock() time.Duration
	// Pause and Resume detach and attach the counting programs.
	Pause() error
	Resume() error
	// idle is the recent cost of events while they are off, in CPUs.
	idle() float64
	// alarm arranges that the waiting thread is woken when observed threads have spent a given
	// time; each is the time of a hit. 0 switches it off. It reports whether the alarm will work.
	alarm(spent, each time.Duration) bool
	// rang reports that the alarm rang since the last call.
	rang() bool
	// Rows hands out the rows that programs counted.
	Rows(number func(*load.Stack) uint64, to func(*agg.Spec, *agg.Partial)) error
}

// programs is the tap of programs of the kernel.
type programs struct {
	load.Budget
	tolls hookcost.Costs
	toll  time.Duration // cost of the most expensive hook
}

func newPrograms(run *load.Run) *programs {
	p := &programs{Budget: load.Budget{Run: run}}
	list := p.Programs()
	p.tolls = hookcost.Measure(list)
	for i := range list {
		if list[i].Event >= 0 {
			p.toll = max(p.toll, p.tolls.Of(&list[i]))
		}
	}
	return p
}

// alarm implements tap. Until a hit has been timed, its cost is unknown, so that the first hits
// ring.
func (p *programs) alarm(spent, each time.Duration) bool {
	hits := uint64(spent / (p.toll + max(each, 1)))
	if each == 0 {
		hits = 1
	}
	if spent == 0 {
		hits = 0
	}
	return p.Alarm(hits) == nil && hits > 0 && p.Hears()
}

func (p *programs) rang() bool { return p.Rang() }

func (p *programs) inPerson() bool           { return false }
func (p *programs) begin()                   {}
func (p *programs) idle() float64            { return 0 }
func (p *programs) clock() time.Duration     { return p.tolls.Clock }
func (p *programs) Hits() (load.Hits, error) { return p.Budget.Hits(p.tolls.Of) }

func (p *programs) Weigh(n uint64) (time.Time, error) {
	err := p.Budget.Weigh(n)
	return time.Now(), err
}
