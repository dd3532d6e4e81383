package fleet

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// This file compares the clocks of hosts with the asker's: when they answer that they run a job, and
// then every clockTime, since clocks can be set while jobs run.

// skewBound is the difference between a host's clock and the asker's above which a message is
// printed.
const skewBound = 100 * time.Millisecond

// skew compares a host's clock with this machine's. asked is when the question was sent;
// the host read its clock between then and now.
func (c *collector) skew(a *Answer, asked time.Time) {
	now := time.Now()
	ahead, behind := a.Now.Sub(now), asked.Sub(a.Now)
	off := max(ahead, behind)
	_, was := c.skewed[a.Host]
	switch {
	case off > skewBound:
		if c.skewed[a.Host] = off; was {
			return
		}
		way := "ahead"
		if behind > ahead {
			way = "behind"
		}
		c.sayOf("clocks are off",
			"the clock of %s is %s %s, at least: its windows are other times than the windows of other hosts",
			a.Host, off.Round(time.Millisecond), way)
	case was:
		delete(c.skewed, a.Host)
		c.sayOf("clocks are right again", "the clock of %s is right again", a.Host)
	}
}

// clocks asks hosts for their time, by a lease with content, until ctx ends. Their answers
// go to arrivals.
func (r *asking) clocks(ctx context.Context, arrivals chan<- arrival) error {
	var mu sync.Mutex
	var asked time.Time
	_, err := r.nc.Subscribe(clockSubject+r.job.ID+".*", func(m *nats.Msg) {
		var a Answer
		if read(m.Data, &a) != nil {
			return
		}
		a.Host = speaker(m.Subject)
		mu.Lock()
		since := asked
		mu.Unlock()
		select {
		case arrivals <- arrival{host: a.Host, clock: &a, askedAt: since}:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return err
	}
	r.all.Go(func() {
		tick := time.NewTicker(cmp.Or(r.asker.Clocks, clockTime))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			mu.Lock()
			asked = time.Now()
			mu.Unlock()
			_ = r.nc.Publish(leaseSubject+r.job.ID, []byte("clock")) // if it is lost, the next one follows
		}
	})
	return nil
}
