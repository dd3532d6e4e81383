package fleet

import (
	"errors"
	"time"

	"ppscript/runtime/result/mergeable"
)

// This file is the part of the asker that handles frames of several hosts, made
// by mergers.

// tree returns the tree of mergers for a number of hosts; nil if they send to
// the asker directly.
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

// takeShares counts a frame of several hosts. If it contains a host's frame that was counted
// before, nothing of it is counted, and the answer asks the merger for a frame without those.
func (c *collector) takeShares(a arrival) error {
	f, err := mergeable.Decode(a.data)
	if err == nil && len(f.Shares) == 0 {
		err = errShares
	}
	for i := 1; err == nil && i < len(f.Shares); i++ { // shares are sorted
		if x, y := &f.Shares[i-1], &f.Shares[i]; x.Host > y.Host || x.Host == y.Host && x.Seq >= y.Seq {
			err = errors.New("it has a frame twice")
		}
	}
	if err != nil {
		c.distrust("the merger "+a.host, err)
		a.answer(FrameAnswer{Busy: true})
		return nil
	}
	if f.Shares[0].Frame != nil { // hosts are kept apart: each share has a whole frame
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

// together merges a frame of several hosts into its window.
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

// Bounds of the time after the end of a window at which the asker requests missing frames again:
// half of the time that a window waits.
const (
	leastAgain = 500 * time.Millisecond
	mostAgain  = 2 * time.Second
)

// An Again asks one portion of the hosts to send frames that are at a merger again. Hosts are asked
// by portions so that the asker is not flooded.
type Again struct {
	Portion int `json:"portion"`
	Of      int `json:"of"`
}

// portionHosts is the approximate number of hosts in a portion.
const portionHosts = 500

// of reports that a host is in the portion.
func (a *Again) of(host string) bool {
	return a.Of > 0 && int(number(host)%uint64(a.Of)) == a.Portion
}

// lacks returns the next portion of hosts to ask for overdue frames; some is false if there is
// none. Each portion is asked once for each window, or repeatedly while no frame comes at all.
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
