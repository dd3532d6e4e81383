package fleet

import (
	"errors"
	"time"

	"ppscript/runtime/result/mergeable"
)

// This file takes frames of several hosts, as mergers make them.

// tree is how mergers put so many hosts together.
func (a *Asker) tree(hosts int) *Tree {
	list := a.Parts
	if list == nil {
		list = parts(hosts)
	}
	if len(list) == 0 || list[0] == 0 {
		return nil
	}
	return &Tree{Parts: list, Apart: a.ByHost || a.Outliers}
}

// takeShares takes a frame of several hosts, unless one of them has come before: then nothing of it counts,
// and its maker is told of which frames it is wanted without.
func (c *collector) takeShares(a arrival) error {
	f, err := mergeable.Decode(a.data)
	if err == nil && len(f.Shares) == 0 {
		err = errShares
	}
	for i := 1; err == nil && i < len(f.Shares); i++ { // they are in order
		if x, y := &f.Shares[i-1], &f.Shares[i]; x.Host > y.Host || x.Host == y.Host && x.Seq >= y.Seq {
			err = errors.New("it has a frame twice")
		}
	}
	if err != nil {
		c.distrust("the merger "+a.host, err)
		a.answer(FrameAnswer{Busy: true})
		return nil
	}
	if f.Shares[0].Frame != nil { // they are kept apart: each is as if it had come alone
		for i := range f.Shares {
			s := &f.Shares[i]
			if err := c.take(arrival{host: s.Host, data: s.Frame, dropped: s.Dropped}); err != nil {
				return err
			}
		}
		a.answer(FrameAnswer{})
		return nil
	}
	var t FrameAnswer
	now := time.Now()
	for i := range f.Shares {
		s := &f.Shares[i]
		from := c.host(s.Host)
		counts := from != nil && s.Seq > from.seq
		if counts {
			if err := c.timely(s, now); err != nil {
				c.distrust(s.Host, err)
				counts = false
			}
		}
		if !counts {
			t.Without = append(t.Without, FrameID{s.Host, s.Seq})
		}
	}
	if len(t.Without) == 0 {
		err = c.together(f)
	}
	a.answer(t)
	return err
}

// together counts a frame of several hosts.
func (c *collector) together(f *mergeable.Frame) error {
	now := time.Now()
	for i := range f.Shares {
		s := &f.Shares[i]
		from := c.hosts[s.Host]
		from.heard, from.silent = now, false
		c.gap(s.Host, from, s.Seq, s.Dropped)
		from.seq = s.Seq
	}
	return c.frame(f)
}

// After half of the time that a window waits, but within these bounds, the asker has frames sent again.
const (
	leastAgain = 500 * time.Millisecond
	mostAgain  = 2 * time.Second
)

// An Again asks hosts to send again what a merger has: those of one portion of all hosts, so that what comes
// can be taken.
type Again struct {
	Portion int `json:"portion"`
	Of      int `json:"of"`
}

// portionHosts is how many hosts are asked at a time.
const portionHosts = 500

// of reports that a host is asked.
func (a *Again) of(host string) bool {
	return a.Of > 0 && int(number(host)%uint64(a.Of)) == a.Portion
}

// lacks is whom to ask for frames that should have come by now, and have not; each portion of the hosts once
// for each window, or again and again while nothing comes at all.
func (c *collector) lacks(now time.Time) (a Again, some bool) {
	after := min(max(c.lateTime()/2, leastAgain), mostAgain)
	a.Of = max((len(c.hosts)+portionHosts-1)/portionHosts, 1)
	for end, w := range c.windows {
		if end != 0 && w.requests < a.Of && now.Sub(time.Unix(0, end)) > after && !c.whole(w, end) {
			a.Portion = w.requests
			w.requests++
			return a, true
		}
	}
	interval := c.q.Config.Options.Interval
	if interval > 0 && now.Sub(c.heard) > interval+after {
		a.Portion = int(now.UnixMilli()/tickTime.Milliseconds()) % a.Of
		return a, true
	}
	return a, false
}
