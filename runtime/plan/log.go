package plan

import (
	"reflect"

	"ppscript/runtime/expr"
)

func (b *builder) log(l *Log) error {
	brs, err := b.existing("log", l.In)
	if err != nil {
		return err
	}
	if brs = b.unsent(brs); len(brs) == 0 {
		return nil
	}
	run := &LogRun{Spec: l, Name: b.name("log")}
	if l.Result != nil {
		fn, err := b.fn(*l.Result, brs, expr.Any)
		if err != nil {
			return err
		}
		run.Result = &ResultRun{fn: fn}
		b.fails(&run.Result.errs, false, func() string { return l.Result.label() })
	}
	if len(l.Fields) > 0 {
		if run.shown, err = b.show(l, brs); err != nil {
			return err
		}
	}
	b.plan.Logs = append(b.plan.Logs, run)
	b.logged = append(b.logged, brs)
	b.attachPrinter(run.Name, brs, run)
	return nil
}

func (b *builder) each(x *Each) error {
	brs, err := b.branchesOf(x.In)
	if err != nil {
		return err
	}
	if x.Batch != nil {
		scopes := make([]*expr.Scope, len(brs))
		for i := range brs {
			scopes[i] = brs[i].scope
		}
		x.Batch.Bind(scopes)
		b.machines = append(b.machines, x.Batch)
	} else {
		if err := (Fn{Call: x.Fn}).check(brs); err != nil {
			return err
		}
		b.calls = append(b.calls, x.Fn)
	}
	run := &EachRun{Spec: x}
	b.plan.Eachs = append(b.plan.Eachs, run)
	b.attach(b.name("each"), brs, run)
	return nil
}

// identityOf tells streams apart; nil is 0.
func identityOf(s Stream) uintptr {
	if s == nil {
		return 0
	}
	return reflect.ValueOf(s).Pointer()
}
