package cexpr

import (
	"testing"

	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// FuzzCompile: there is a program exactly when there is no error; a program
// runs on any record without panic, and gives the same number twice.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"i32 == 3 && comm ~ \"*sh\"", "(char)300", "filename[i32]",
		"*(int *)((char *)&i32 + n8)", "i8++ + --n16",
		"({ int x = 1; x /= i32; x; })", `printf("%5s|%-3d", comm, ints[1])`,
		`__print_flags(n8, "|", {1, "a"}, {2, "b"})`,
		"strncmp(comm, rel, n64)", "&ints[1] - &ints[0]", "1/0", "longs[3]",
		"__get_cpumask(mask)", "rel ~ filename",
		"sizeof(comm) << i64", "n64 ? comm : full", `__print_array(__get_dynamic_array(longs), n8, 8)`,
		"REC->ptr && _cpu",
		"\"abc\"[i8]", "(bool)i64 + !comm", "comm = full, comm", "_comm == __get_str(rel)",
	} {
		f.Add(s, []byte{1, 2, 3})
	}
	sc := testScope()
	f.Fuzz(func(t *testing.T, src string, record []byte) {
		p, err := Compile(src, sc)
		if (p == nil) != (err != nil) {
			t.Fatalf("got program %v and error %v", p, err)
		}
		if err != nil {
			return
		}
		tree, _ := c.Parse(src)
		if q, err := CompileTree(tree, sc); err != nil || q.Node.String() != p.Node.String() {
			t.Fatalf("compiled from the tree: got %v, want %s", err, p.Node)
		}
		e := testEvent()
		short := *e
		short.Raw = record
		for _, e := range []*struct{ raw []byte }{{e.Raw}, {record}, {nil}} {
			ev := short
			ev.Raw = e.raw
			var fr Frame
			fr.Reset(&ev)
			p.Value(&fr)
			p.Run(&fr)
			if p.Int != nil {
				a, b := p.Int(&fr), p.Int(&fr)
				if a != b || p.Bool(&fr) != (a != 0) {
					t.Fatalf("got %d, then %d", a, b)
				}
			}
			if filter, rest, ok := KernelFilter(p.Node); ok != (filter != "") || !ok && rest == nil {
				t.Fatalf("filter %q, rest %v, %v", filter, rest, ok)
			}
		}
	})
}
