// Package expr is the code that runs per event: one typed intermediate
// representation (IR), to which front ends lower, and the native back end, which
// compiles it to closures.
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
// The New functions make nodes: they check types and fold constants. C's operators
// wrap, and C's conversions select them; Python's operators are checked: PyBinary,
// PyUnary and Compare select them. There are no loops: a front end unrolls what it
// can. Statements (NewBlock, NewIf, NewReturn) live in a NewFunc; locals are
// numbered by the front end, and a called function that is inlined gets numbers of
// its own. A local must be assigned before it is read on every path, since its slot
// still has a value from the last evaluation. Integers of 64 bits are signed or
// unsigned by type; a checked operation whose result its type cannot hold sets
// ErrOverflow.
//
// # Back ends
//
// They switch over the node types of node.go, and over the types of Native.Kernel;
// Native.HostOnly is the reason if a native has no such type. Walk, Pure and
// String help.
package expr
