// Package expr is the code that runs per event: one typed IR, to which front ends
// lower, and the native back end that makes closures of it.
//
//	C text (runtime/expr/cexpr) ──────────────► Node ──Build──► Program
//	Starlark (runtime/script/frontend) ──────────►  │
//	                                         └─► eBPF (bpf), kernel filter (KernelFilter)
//
// # Using a program
//
//	p, err := cexpr.Compile("prev_prio < 100 && next_comm ~ \"kworker*\"", &expr.Scope{Schema: s})
//	var f expr.Frame                  // one per consumer
//	for i := range events {
//		f.Reset(&events[i])
//		ok := p.Bool(&f)
//		if f.Err != nil {
//			loss.Errors++
//		} else if ok { ... }
//	}
//
// A Program never panics and never allocates (but for Value); the error of an
// event is in Frame.Err.
//
// # Front ends
//
// The New functions make nodes: they check types and fold constants. C's
// operators wrap and are chosen by C's conversions; Python's are checked:
// PyBinary, PyUnary and Compare pick them. There are no loops: a front end
// unrolls what it can. Statements (NewBlock, NewIf, NewReturn) live in a
// NewFunc; locals are numbered by the front end, and a called function that is
// inlined gets numbers of its own. A local must be assigned before it is read on
// every path: the slots keep what the last evaluation left. Integers of 64 bits are
// signed or unsigned by type; a checked operation whose result its type cannot
// hold sets ErrOverflow.
//
// # Back ends
//
// They switch over the node types of node.go, and over the types of Native.Kernel;
// Native.HostOnly says why a native has none of those. Walk, Pure and String help.
package expr
