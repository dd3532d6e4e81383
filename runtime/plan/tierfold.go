package plan

import (
	"ppscript/bpf"
	"ppscript/runtime/expr"
)

// This file translates folds for the kernel: those whose step function is
// compiled, and whose results are counted. A flush function sees all states at
// the end of an interval, which no program can.

func (k *kernelBuilder) fold(n *foldNode) error {
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

// step makes f bring the events of a branch to a fold.
func (k *kernelBuilder) step(f *bpf.Feed, n *foldNode, br *branch) (err error) {
	f.Fold = k.folds[n]
	if f.Key, err = nodeOf(n.spec.Key.At(br.stream)); err != nil {
		return err
	}
	if f.Step, err = nodeOf(n.spec.Step.At(br.stream)); err != nil {
		return err
	}
	var native string
	expr.Walk(f.Step, func(x expr.Node) bool {
		if c, ok := x.(*expr.Native); ok && c.Name != "bswap" && c.Name != expr.UserText {
			native = c.Name
		}
		return native == ""
	})
	if native != "" {
		return not("the step function calls %s(), which runs in ppscript", native)
	}
	return nil
}
