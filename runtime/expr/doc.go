// Package expr is the code that runs per event: one typed IR, front ends that
// lower to it, and the native back end that makes closures of it.
//
//	C text ──c.Parse──► c.Node ──Lower──► Node ──Build──► Program
//	Starlark (runtime/frontend) ──────────►  │
//	                                         └─► eBPF (bpf), kernel filter (KernelFilter)
//
// # Using a C expression
//
//	p, err := expr.CompileC("prev_prio < 100 && next_comm ~ \"kworker*\"", &expr.Scope{Schema: s})
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
// # Print fmts
//
// The arguments of a tracepoint's print fmt are C expressions too:
//
//	args, err := c.ParseArgs(schema.PrintFmt)     // args[0] is the format, a *c.String
//	p, err := expr.Compile(args[1], &expr.Scope{Schema: schema})
//
// __print_symbolic and its family are builtins that give a Str. Text fields
// are Str; array fields are Str too, all of their bytes (%pI6, %pU); a pointer
// is an Int, and Frame.Memory gives the bytes if it points into the event.
// Scope.Builtins adds functions:
//
//	sc.Builtins = map[string]expr.Builtin{"jiffies_to_msecs": {
//		Usage: "jiffies_to_msecs(x)", Min: 1, Max: 1,
//		Lower: func(k *expr.Call) (expr.Node, error) {
//			x, err := k.Int(0)
//			if err != nil {
//				return nil, err
//			}
//			return expr.NewNative(expr.Native{Name: k.Name, T: expr.TInt, Args: []expr.Node{x},
//				Int1: func(_ *expr.Frame, x int64) int64 { return x * 4 }})
//		},
//	}}
//
// # Front ends
//
// The New functions make nodes: they check types and fold constants. C's
// operators wrap and are chosen by C's conversions; Python's are checked:
// PyBinary, PyUnary and Compare pick them. There are no loops: a front end
// unrolls what it can. Statements (NewBlock, NewIf, NewReturn) live in a
// NewFunc; locals are numbered by the front end, and a called function that is
// inlined gets numbers of its own. A local must be assigned before it is read on
// every path: the slots keep what the last evaluation left. Integers of 64 bits are signed or unsigned
// by type; a checked operation whose result its type cannot hold sets
// ErrOverflow.
//
// # Back ends
//
// They switch over the node types of node.go. Natives are known by name;
// Native.Data is their table. Walk, Pure and String help.
package expr
