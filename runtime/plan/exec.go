package plan

import (
	"slices"

	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result/view"
)

// An ExecOp evaluates the exec attributes of events, which print text.
type ExecOp struct {
	operator
	progs []*expr.Program // by stream
	logs  []*LogOp        // the logs that show some of these events
}

// An ExecRun is an ExecOp that runs. Its delivery sets Out.
type ExecRun struct {
	running
	view.Exec
}

// addExecs finds the exec attributes. If a log shows the event, its exec attribute runs
// after the event's line is shown; other exec attributes run by themselves.
func addExecs(b *builder) error {
	var mine []branch
	op := &ExecOp{progs: make([]*expr.Program, len(b.plan.streams))}
	for _, e := range b.plan.Events {
		texts := e.Source.Attr("exec")
		if len(texts) == 0 {
			continue
		}
		br := branch{stream: e.Stream.Index, scope: b.scope(e.Source, e.Stream.Schema)}
		p, err := b.compile(Fn{Text: texts[0], Pos: e.Source.Pos}, &br, expr.Any)
		if err != nil {
			return err
		}
		op.progs[br.stream] = p
		mine = append(mine, br)
	}
	if len(mine) == 0 {
		return nil
	}
	for _, l := range Of[*LogOp](b.plan) {
		for _, br := range l.branches {
			for k := range mine {
				if mine[k].stream == br.stream {
					if !slices.Contains(op.logs, l) {
						op.logs = append(op.logs, l)
					}
					mine = append(mine[:k], mine[k+1:]...)
					break
				}
			}
		}
	}
	b.plan.add(op)
	if len(mine) > 0 {
		b.feed(feed{op: op, name: "exec"}, mine)
	}
	return nil
}

func (op *ExecOp) instantiate(in *Instance) Running {
	run := &ExecRun{Exec: view.Exec{Programs: op.progs}}
	in.fails("exec", &run.Errs, false)
	for _, l := range op.logs {
		in.runs[l].(*LogRun).Exec = run
	}
	return run
}

func (x *ExecRun) sink(int) flow.Sink { return &x.Exec }

func (*ExecOp) sees() sight { return sight{starts: true, records: true} }
func (*ExecOp) deliver(h Host) Delivery {
	return connection(func(r Running) error {
		r.(*ExecRun).Out = h.Printer()
		return nil
	})
}

func (*ExecOp) ofOneMachine() (what, why string) { return "", actsHere }

func (*ExecOp) inKernel() (graph.Work, string) { return graph.Work{}, "exec= sees every event" }
