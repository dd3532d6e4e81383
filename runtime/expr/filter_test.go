package expr_test

import (
	"testing"

	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
)

// TestKernelFilterPython: predicates as a Starlark front end makes them.
func TestKernelFilterPython(t *testing.T) {
	py := func(op string, x, y Node) Node { return must(PyBinary(op, x, y)) }
	f := func(n Node, want string) {
		t.Helper()
		if got, rest, _ := KernelFilter(n); got != want || rest != nil && want != "" {
			t.Errorf("%s: got %q and %v, want %q", n, got, rest, want)
		}
	}
	f(py("==", fieldNode("i32"), NewInt(3)), "i32 == 3")
	f(py("and", py(">", fieldNode("n64"), NewInt(5)), py("!=", fieldNode("comm"), NewStr("x"))),
		`n64 > 5 && comm != "x"`)
	f(py("and", py("<=", fieldNode("n32"), NewInt(7)), must(PyUnary("not", fieldNode("flag")))),
		"n32 <= 7 && !(flag != 0)")
	f(py("&", fieldNode("n32"), NewInt(8)), "n32 & 8")
	f(py("==", py("&", fieldNode("n64"), NewInt(8)), NewInt(0)), "!(n64 & 8)")
	f(must(NewBinary(OpPrefix, fieldNode("comm"), NewStr("kw"))), `comm ~ "kw*"`)
	f(must(NewBinary(OpSuffix, fieldNode("filename"), NewStr("wd"))), `filename ~ "*wd"`)
	f(must(NewBinary(OpContains, fieldNode("filename"), NewStr("etc"))), `filename ~ "*etc*"`)
	f(must(NewBinary(OpPrefix, fieldNode("comm"), NewStr("k*"))), "")
	// No unsigned value is below zero; the kernel could not parse it.
	f(py("<", fieldNode("n64"), NewInt(-1)), "")
	f(py("==", fieldNode("n32"), NewInt(-1)), "")
	f(py("<", fieldNode("i64"), NewUint(1<<63)), "")
}

func TestKernelFilter(t *testing.T) {
	f := func(src, filter, rest string) {
		t.Helper()
		n, err := cexpr.Lower(src, testScope())
		if err != nil {
			t.Errorf("%s: %v", src, err)
			return
		}
		got, r, ok := KernelFilter(n)
		left := ""
		if r != nil {
			left = r.String()
		}
		if got != filter || left != rest || ok != (filter != "") {
			t.Errorf("%s: got %q and %q (%v), want %q and %q", src, got, left, ok, filter, rest)
		}
	}
	f("i32 == 3", "i32 == 3", "")
	f("3 < i32", "i32 > 3", "")
	f("i32 >= -5", "i32 >= -5", "")
	f("i32", "i32 != 0", "")
	f("!i32", "!(i32 != 0)", "")
	f("n32 == -3", "n32 == 4294967293", "")
	f("n64 == -3", "n64 == 18446744073709551613", "")
	f("n64 < 5", "n64 < 5", "")
	f("n32 & 6", "n32 & 6", "")
	f("(n32 & 6) == 0", "!(n32 & 6)", "")
	f("(n32 & 6) != 0 && i32 == 1", "n32 & 6 && i32 == 1", "")
	f("i32 == 1 || i32 == 2", "(i32 == 1 || i32 == 2)", "")
	f("i32 == 1 && (n8 > 3 || !n16)", "i32 == 1 && (n8 > 3 || !(n16 != 0))", "")
	f("_cpu == 2", "CPU == 2", "")
	f("common_pid != 7", "common_pid != 7", "")
	f("irqs_disabled", "common_flags & 1", "")
	f("irqs_disabled == 0 && tif_need_resched != 0", "!(common_flags & 1) && common_flags & 4", "")
	f("irqs_disabled == 2", "", "(irqs_disabled == 2)")
	f("nr_running >= 2 && i32 == 1", "i32 == 1", "(2 <=u nr_running)")
	f("ptr > 5", "ptr > 5", "")
	// Texts.
	f(`comm == "bash"`, `comm == "bash"`, "")
	f(`"bash" != comm`, `comm != "bash"`, "")
	f(`comm ~ "ba*"`, `comm ~ "ba*"`, "")
	f(`comm ~ "*sh"`, `comm ~ "*s[h]"`, "")
	f(`comm ~ "*as*"`, `comm ~ "*a[s]*"`, "")
	f(`comm ~ "b[^x]?h"`, `comm ~ "b[!x]?h"`, "")
	f(`filename ~ "*passwd"`, `filename ~ "*passwd"`, "")
	f(`full ~ "fu*"`, `full ~ "fu*"`, "")
	// Predicates that differ in the kernel stay here.
	f("i32 == 4294967296", "", "(i32 == 4294967296)")
	f("i32 < 5u", "", "(u32(i32) <u 5)")
	f("n8 == 256", "", "(n8 == 256)")
	f("i64 < 5ul", "", "(i64 <u 5)")
	f("(n32 & 6) == 2", "", "((n32 & 6) == 2)")
	f("i32 == i64", "", "(i32 == i64)")
	f("i32 + 1 == 3", "", "(s32((i32 + 1)) == 3)")
	f("_pid == 3", "", "(_pid == 3)")
	f(`full ~ "*ll"`, "", `(full ~ "*ll")`)
	f(`full == "fully"`, "", `(full == "fully")`)
	f(`comm ~ "!a*"`, "", `(comm ~ "!a*")`)
	f(`comm ~ "1*"`, "", `(comm ~ "1*")`)
	f(`comm == "a\"b"`, "", `(comm == "a\"b")`)
	f(`comm == ""`, "", `(comm == "")`)
	f("ints[0] == 1", "", "(ints[0] == 1)")
	// Conjunctions are split, disjunctions are not.
	f(`i32 == 1 && _pid == 3 && comm == "x"`, `i32 == 1 && comm == "x"`, "(_pid == 3)")
	f("_pid == 3 && i32 == 1 && _pid < i64", "i32 == 1", "((_pid == 3) && (_pid <s i64))")
	f("i32 == 1 || _pid == 3", "", "((i32 == 1) || (_pid == 3))")
	f(`printf("x") && i32 == 1`, "", `(bool(printf()) && (i32 == 1))`)
}

func TestCompileFilter(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		p, err := cexpr.CompileFilter(src, testScope())
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			var fr Frame
			fr.Reset(testEvent())
			got = p.Value(&fr).String()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
	f(`comm == 'bash'`, "1")
	f(`comm ~ '*s*' && i32 == -3`, "1")
	f(`comm == 'b' || full == "full"`, "1")
	f(`CPU == 3 && COMM == "thread"`, "1")
	f(`comm[0] == 'b'`, "1")
	f(`comm == 'bash`, "expression 'comm == 'bash': column 9: character is not closed")
	f(`com == 'bash'`, "expression 'com == 'bash'': column 1: unknown variable com (did you mean comm?)")
	f(`i32 == 'bash'`, "expression 'i32 == 'bash'': column 8: a text is compared with a number")
}
