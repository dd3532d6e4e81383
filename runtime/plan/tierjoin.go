package plan

import (
	"ppscript/bpf"
	"ppscript/runtime/expr"
)

// This file translates joins for the kernel.

// layKernel gives a join its place in the programs.
func (r *JoinRun) layKernel(k *kernelBuilder) error {
	n := r.node
	switch {
	case n.spec.Nested:
		return not("%s nests", n.name)
	case n.left != nil:
		return not("events without a partner are wanted")
	case n.js.Timeline != nil:
		return not("what happens during a pair is wanted")
	}
	for _, in := range n.js.In {
		if in.Untraced {
			return not("there are untraced events")
		}
	}
	j := &bpf.Join{Stages: len(n.stages), Cycle: n.js.Cycle, Limit: n.js.Limit}
	k.spec.Joins = append(k.spec.Joins, j)
	k.joins[n] = j
	for s, ends := range n.js.Pairs {
		for e, st := range ends {
			if st != nil {
				j.Pairs = append(j.Pairs, bpf.Pair{Start: k.events[s], End: k.events[e]})
			}
		}
	}
	return nil
}

// feedKernel brings the events of a branch to their stage.
func (r *JoinRun) feedKernel(k *kernelBuilder, _ string, f *bpf.Feed, br *branch) (err error) {
	if br.root != nil {
		return not("a join of pairs")
	}
	in := &r.node.js.In[br.stream]
	f.Join, f.Stage = k.joins[r.node], in.Stage
	if f.Key, err = nodeOf(in.Key); err != nil {
		return err
	}
	if w := in.Wakeup; w != nil {
		f.Wakes = expr.NewField(w.PID, expr.Self)
		if w.CPU != nil {
			f.WakesOn = expr.NewField(w.CPU, expr.Self)
		}
	}
	if in.NextPID != nil {
		f.Next = expr.NewField(in.NextPID, expr.Self)
	}
	if in.Role != nil {
		f.Role, err = nodeOf(in.Role)
	}
	return err
}

func (k *kernelBuilder) pairFeed(n *joinNode, stream int, f bpf.Feed) error {
	j := k.joins[n]
	for s, ends := range n.js.Pairs {
		for e, st := range ends {
			if st == nil || st.Index != stream {
				continue
			}
			for i := range j.Pairs {
				if p := &j.Pairs[i]; p.Start == k.events[s] && p.End == k.events[e] {
					p.Feeds = append(p.Feeds, f)
					return nil
				}
			}
		}
	}
	panic("BUG: pairs of no join")
}
