package budget

import (
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
)

// A tap is where a Governor has events left out, and learns how many there were.
type tap interface {
	// ByKey says that something relates events.
	ByKey() bool
	// inPerson says that ppscript itself gets the events: its own time follows them. All it can do
	// is to have none come for a while.
	inPerson() bool
	// begin is called when the run begins.
	begin()
	// Weigh has each event that counts stand for n, with 0 none counts; it returns since when.
	Weigh(n uint64) (time.Time, error)
	Hits() (load.Hits, error)
	// clock is what reading the time costs, which is in the times of hits.
	clock() time.Duration
	// Pause and Resume detach and attach the counting programs.
	Pause() error
	Resume() error
	// idle is what events cost while they are off, lately, in CPUs.
	idle() float64
	// alarm wakes the thread that waits when so much was spent on observed threads, of which each hit
	// takes about so long; with 0 nobody is. It reports whether somebody will be.
	alarm(spent, each time.Duration) bool
	// rang reports that it is as much, since it was asked last.
	rang() bool
	// Rows hands out the rows that were counted elsewhere.
	Rows(number func(*load.Stack) uint64, to func(*agg.Spec, *agg.Partial)) error
}

// programs is the tap of programs of the kernel.
type programs struct {
	load.Budget
	tolls hookcost.Costs
	toll  time.Duration // of the dearest hook
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

// alarm implements tap. Until the time of one was taken a hit may take any time: the first ones ring.
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
