package plan

import (
	"ppscript/bpf"
	"ppscript/runtime/expr"
)

// This file translates folds for the kernel: those whose step function is
// compiled, and whose results are counted. A flush function sees all states at
// the end of an interval, which no program can.

// layKernel gives a fold its place in the programs.
func (r *FoldRun) layKernel(k *kernelBuilder) error {
	n := r.node
	s := &n.spec
	switch {
	case s.Flush != nil:
		return not("%s has a flush function, which sees the states of all keys", n.run.Name)
	case s.Stacks != nil || n.run.Holds:
		return not("%s keeps or emits stacks", n.run.Name)
	}
	f := &bpf.Fold{Init: s.Init, Texts: s.Texts, Limit: s.Limit}
	k.spec.Folds = append(k.spec.Folds, f)
	k.folds[n] = f
	return nil
}

// feedKernel brings the events of a branch to the fold.
func (r *FoldRun) feedKernel(k *kernelBuilder, _ string, f *bpf.Feed, br *branch) (err error) {
	n := r.node
	f.Fold = k.folds[n]
	if f.Key, err = nodeOf(n.spec.Key.At(br.stream)); err != nil {
		return err
	}
	if f.Step, err = nodeOf(n.spec.Step.At(br.stream)); err != nil {
		return err
	}
	var native string
	expr.Walk(f.Step, func(x expr.Node) bool {
		if c, ok := x.(*expr.Native); ok && (!c.Is(expr.HasProgram) || c.Is(expr.AsksThreads)) {
			native = c.Name
		}
		return native == ""
	})
	if native != "" {
		return not("the step function calls %s(), which runs in ppscript", native)
	}
	return nil
}
