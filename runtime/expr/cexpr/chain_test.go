package cexpr

import (
	"strings"
	"testing"

	. "ppscript/runtime/expr"
)

// TestLongExpressions: perf-prof's compiler overflows a buffer at some 1,000
// instructions.
func TestLongExpressions(t *testing.T) {
	var f Frame
	e := testEvent()
	setField(e, "i32", 1)
	f.Reset(e)
	p, err := Compile("i32"+strings.Repeat("+i32", 4999), testScope())
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Int(&f); got != 5000 || f.Err != nil {
		t.Errorf("got %d (%v), want 5000", got, f.Err)
	}
	p, err = Compile("1"+strings.Repeat("+1", 599), testScope())
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Node.String(); got != "600" {
		t.Errorf("got %s, want the constant 600", got)
	}
	// Chains whose parts could be visited again at every level.
	for _, op := range []string{">", "==", ",", "&&"} {
		if _, err := Compile("i32"+strings.Repeat(op+"i32", 3000), testScope()); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
	for _, src := range []string{
		strings.Repeat("ntohl(", 100) + "n32" + strings.Repeat(")", 100),
		strings.Repeat("(", 100) + "i32" + strings.Repeat("?:1)", 100),
		strings.Repeat("({ int x = ", 50) + "i32" + strings.Repeat("; x+x; })", 50),
	} {
		if _, err := Compile(src, testScope()); err != nil {
			t.Errorf("%.20s: %v", src, err)
		}
	}
	if _, err := Compile("i32"+strings.Repeat("+i32", 50000), testScope()); err == nil {
		t.Error("50,000 additions: no error")
	}
}
