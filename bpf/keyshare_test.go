package bpf

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/result"
)

// threads are callers, each with its number of calls at a time.
type threads []chan int

func (x threads) call(n int) (all int) {
	for i, c := range x {
		c <- n * (1 + i%4)
		all += n * (1 + i%4)
	}
	for _, c := range x {
		<-c
	}
	return all
}

func callers(t *testing.T, n int) (x threads) {
	for range n {
		c := make(chan int)
		x = append(x, c)
		go func() {
			runtime.LockOSThread()
			for n := range c {
				for range n {
					unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
				}
				c <- 0
			}
		}()
		t.Cleanup(func() { close(c) })
	}
	return x
}

// Where keys count or do not, each that counts does with all of its pairs; what waits of one that did
// not all the time is given up; and how many pairs there were is within three times its margin.
func TestKeyShares(t *testing.T) {
	h, fs := live(t)
	enter, exit := schemaOf(t, fs, "raw_syscalls", "sys_enter"), schemaOf(t, fs, "raw_syscalls", "sys_exit")
	const pairs = 2
	tid := expr.Build(tidNode)
	j := &join.Spec{In: []join.In{{Key: tid}, {Stage: 1, Key: tid}},
		Pairs: [][]*event.Stream{{nil, {Index: pairs}}}}
	of := func(n expr.Node) *flow.Fn { return flow.NewFn([]*expr.Program{pairs: expr.Build(n)}, pairs) }
	each := &agg.Spec{Keys: []*flow.Fn{of(expr.Rebind(tidNode, expr.Self, expr.End))},
		Args: []agg.Arg{{}}, Aggs: []agg.Agg{{Op: agg.Count}}}
	sum := &agg.Spec{Args: []agg.Arg{{Fn: of(delayOf(expr.Self))}},
		Aggs: []agg.Agg{{Op: agg.Count}, {Op: agg.Max}}}
	id := fmt.Sprintf("id == %d && _pid == %d", unix.SYS_GETPPID, os.Getpid())
	p := partOf([]*Event{{Schema: enter, Label: "enter"}, {Schema: exit, Label: "exit"}},
		&Edge{Stream: 0, To: joinNode(j), Preds: predsOf(node(t, enter, id))},
		&Edge{Stream: 1, To: joinNode(j), Preds: predsOf(node(t, exit, id))},
		&Edge{Stream: pairs, Group: each}, &Edge{Stream: pairs, Group: sum})
	p.Weighed, p.Intervals = true, true
	run := start(t, h, p)
	budget := load.Budget{Run: run}
	if !budget.ByKey() {
		t.Fatal("got events that count by chance, want keys")
	}
	x := callers(t, 200)
	total := agg.New(*sum)
	read := func() (rows map[string]uint64, n, margin, worst float64) {
		total.Reset()
		rows = map[string]uint64{}
		err := run.Rows(nil, func(of *agg.Spec, p *agg.Partial) {
			if of == sum {
				total.AddPartial(p)
				return
			}
			rows[string(p.Key)] += p.Measures[0].N
		})
		if err != nil {
			t.Fatal(err)
		}
		out := &result.Table{Rows: total.Rows(), Columns: make([]result.Column, 2)}
		total.AddMargins(out)
		row := out.Rows[0]
		if n, worst = row[0].Float(), row[1].Float(); len(row) > 2 && row[2].Numeric() {
			margin = row[2].Float()
		}
		return rows, n, margin, worst
	}
	weigh := func(n uint64) {
		t.Helper()
		if err := budget.Weigh(n); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name string, want int, w uint64, keys int) {
		t.Helper()
		rows, n, margin, worst := read()
		if math.Abs(n-float64(want)) > 3*margin+0.5 || margin > float64(want) || (w > 1) != (margin > 0) {
			t.Errorf("%s: got %v ± %v pairs, want %d", name, n, margin, want)
		}
		for _, n := range rows {
			if n%(10*w) != 0 {
				t.Errorf("%s: got %d pairs of a thread, want a multiple of %d", name, n, 10*w)
			}
		}
		if len(rows) > keys*3 || len(rows) < keys/3 {
			t.Errorf("%s: got %d threads, want about %d", name, len(rows), keys)
		}
		if worst > 5e9 {
			t.Errorf("%s: got a call of %v s", name, worst/1e9)
		}
		t.Logf("%s: %d of 200 threads, %v ± %v pairs of %d", name, len(rows), n, margin, want)
	}
	check("all", x.call(10), 1, 200)
	for _, w := range []uint64{2, 4, 8, 4, 2} {
		weigh(w)
		check(fmt.Sprint("1 of ", w), x.call(10), w, 200/int(w))
	}
	weigh(4)
	n := x.call(10)
	weigh(2)
	check("two weights", n+x.call(10), 2, 200/2)
	if err := budget.Pause(); err != nil {
		t.Fatal(err)
	}
	weigh(0)
	x.call(10)
	if err := budget.Resume(); err != nil {
		t.Fatal(err)
	}
	weigh(1)
	check("after a pause", x.call(10), 1, 200)
	hits, err := budget.Hits(func(*load.Program) time.Duration { return 0 })
	if err != nil || hits.Offered == 0 || hits.Represented == 0 || hits.Represented > 2*hits.Offered {
		t.Errorf("got %d events of keys, %d of those that count, %v", hits.Offered, hits.Represented, err)
	}
}
