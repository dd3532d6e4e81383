package plan

import (
	"io"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
)

// An ExecRun evaluates the exec attributes of events for what they print.
// Session sets Out before events flow.
type ExecRun struct {
	operator
	Out   io.Writer
	progs []*expr.Program // by stream
	frame expr.Frame
	errs  flow.Errors
}

// execs finds the exec attributes. Those of events that a log shows run behind
// the event's line, the others by themselves.
func (b *builder) execs() error {
	var mine []branch
	run := &ExecRun{progs: make([]*expr.Program, len(b.plan.streams))}
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
		run.progs[br.stream] = p
		mine = append(mine, br)
	}
	if len(mine) == 0 {
		return nil
	}
	b.fails(&run.errs, false, func() string { return "exec" })
	for _, l := range Of[*LogRun](b.plan) {
		for _, br := range l.branches {
			for k := range mine {
				if mine[k].stream == br.stream {
					l.Exec = run
					mine = append(mine[:k], mine[k+1:]...)
					break
				}
			}
		}
	}
	b.add(run)
	if len(mine) > 0 {
		b.attach("exec", mine, run)
	}
	return nil
}

func (*ExecRun) sees() sight                  { return sight{starts: true, records: true} }
func (*ExecRun) inKernel() (kernelOp, string) { return kernelOp{}, "exec= sees every event" }

// Events implements flow.Sink.
func (x *ExecRun) Events(evs []*event.Event) {
	x.frame.Out = x.Out
	for _, e := range evs {
		if e.Stream.Index >= len(x.progs) || x.progs[e.Stream.Index] == nil {
			continue
		}
		x.frame.Reset(e)
		if x.progs[e.Stream.Index].Run(&x.frame); x.frame.Err != nil {
			x.errs.Note(&x.frame)
		}
	}
}

// Lost implements flow.Sink.
func (x *ExecRun) Lost(int32, uint64, event.Time) {}
