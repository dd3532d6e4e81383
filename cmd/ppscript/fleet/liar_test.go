package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/result/mergeable"
)

// A host that tells of times that are not now makes no results of its own, and none of its frames is kept.
func TestHostsThatTellOfOtherTimes(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.agent("good", nil)
	nc := p.dialAs("liar")
	liar := Host{Name: "liar", Labels: map[string]string{"role": "db"}}
	if _, err := nc.Subscribe(jobSubject, func(m *nats.Msg) {
		var j Job
		_ = json.Unmarshal(m.Data, &j)
		_ = nc.Publish(answerSubject+j.ID+".liar", must(Answer{Host: "liar", Now: time.Now()}))
		now := time.Now().UnixNano()
		day := int64(24 * time.Hour)
		for i := range int64(1000) {
			for k, end := range []int64{i + 1, now - i*day, now + (i+1)*day, math.MaxInt64 - i,
				math.MinInt64 + i} {
				f := &mergeable.Frame{Host: "liar", Seq: uint64(5*i) + uint64(k) + 1,
					Begin: end - 1, End: end,
					Results: []mergeable.Result{calls(7)}}
				if k == 1 && i == 0 {
					f.End, f.Begin = day, day-1 // now would be an interval
				}
				_ = nc.PublishMsg(&nats.Msg{Subject: partSubject + j.ID + ".liar", Data: f.Append(nil)})
			}
		}
		_ = nc.Publish(endSubject+j.ID+".liar", must(JobEnd{Host: "liar", Frames: 5000}))
	}); err != nil {
		t.Fatal(err)
	}
	// A host that is known is asked at once: the subscription has to be at the hub before the beat.
	if err := errors.Join(nc.Flush(), nc.Publish(beatSubject+"liar", must(liar))); err != nil {
		t.Fatal(err)
	}
	p.waitForHosts(2)
	to := &answers{}
	if err := p.ask(context.Background(), "20", to, nil); err != nil {
		t.Fatal(err, to)
	}
	tables := 0
	for _, s := range to.records(t) {
		if s.Type == "table" {
			tables++
		}
	}
	if tables != 20 {
		t.Errorf("got %d results, want 20: %.3000s", tables, to)
	}
	if !strings.Contains(to.String(), "liar is left out: it reported") {
		t.Errorf("it is not told: %.3000s", to)
	}
}
