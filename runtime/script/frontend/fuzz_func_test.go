package frontend

import (
	"math/rand/v2"
	"strings"
	"testing"

	"ppscript/runtime/expr"
	"ppscript/runtime/script"
	"ppscript/runtime/system/limits"

	"go.starlark.net/starlark"
)

// A function of users gives the same natively, as closures and in Starlark's own
// interpreter: the same values, and errors for the same events.
func FuzzFunction(f *testing.F) {
	for _, s := range []string{
		"e.pid + e.cpu", "e.comm[1:] + str(e.pid)", "(e.pid, e.comm)", "e.pid // (e.cpu - 1)", "e.pid % 3 == 0",
		"e.comm if e.cpu else 'x'", "len(e.comm) << 3", "1 << e.cpu", "e.pid in (1, 2, 3)", "not e.pid and e.cpu",
		"'%s:%d' % (e.comm, e.pid)", "e.comm.startswith('k')", "min(e.pid, 7)", "sum([e.pid, e.cpu])", "e.time - e.pid",
		"[x * 2 for x in range(3)][e.cpu]", "{1: 2}.get(e.cpu, 3)", "e.comm * 2", "-e.pid >> 1", "log2(e.pid)",
		"9223372036854775807 + e.cpu", "e.pid / 2", "int(e.comm)", "e.comm.split('a')[0]", "hash(e.comm)", "None",
		"e", "lambda: e", "e.comm < 'm' or e.pid > 2", "abs(-e.pid)", "e.comm[-1]", "e.comm[e.cpu]",
		"e.pod", "e.weight", "e.unit or 1", "e.cgroup_id if e.pid else 0", "e.comm_nodigit == 'k'", "e.nr_running",
		"e.cpumode", "e.container == None",
	} {
		f.Add(s)
	}
	schema := named()
	sc := &expr.Scope{Schema: schema}
	r := rand.New(rand.NewPCG(1, 2))
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(body, "**") || len(body) > 300 || strings.Count(body, "*") > 2 {
			return // repetition may ask for gigabytes
		}
		functions := make([]*Func, 2)
		for i := range functions {
			h := script.NewHost(script.HostOptions{
				Predeclared: randomNames(), Limits: limits.Policy{Steps: 10_000, CallSteps: 10_000},
				Print: func(string) {},
			})
			mod, err := h.LoadSource("f.star", "def f(e):\n    return ("+body+"\n    )\n")
			if err != nil {
				return
			}
			fn, ok := mod.Globals["f"].(*starlark.Function)
			if !ok {
				return
			}
			if functions[i], err = NewFunc(h, fn); err != nil {
				return
			}
		}
		direct, plain := functions[0], plainly(functions[1])
		n, lowerErr := direct.Lower(sc, expr.Any)
		if lowerErr != nil {
			if _, ok := lowerErr.(*notLowered); !ok {
				t.Fatalf("got %T %v", lowerErr, lowerErr)
			}
		}
		var native *expr.Program
		if lowerErr == nil {
			native = expr.Build(n)
		}
		var fr expr.Frame
		for range 8 {
			e := randomSample(r, schema)
			want, wantErr := plain.Call(e)
			if wantErr != nil && strings.Contains(wantErr.Error(), "steps") {
				return // it took too long
			}
			got, err := direct.Call(e)
			if errText(err) != errText(wantErr) ||
				err == nil && (got.Kind != want.Kind || got.Compare(want) != 0) {
				t.Fatalf("%s\ndirectly %v %v (%v), interpreted %v %v (%v)", body, got.Kind, got, err,
					want.Kind, want, wantErr)
			}
			if native == nil {
				continue
			}
			fr.Reset(e)
			got = native.Value(&fr)
			if (wantErr == nil) != (fr.Err == nil) || wantErr == nil && got.Compare(want) != 0 {
				t.Fatalf("%s\nnatively %v %v (%v), interpreted %v %v (%v)", body, got.Kind, got, fr.Err,
					want.Kind, want, wantErr)
			}
		}
	})
}
