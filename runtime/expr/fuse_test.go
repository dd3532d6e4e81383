package expr_test

import (
	"fmt"
	"math/big"
	"testing"

	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/expr/exprtest"
	"ppscript/runtime/text/glob"
)

// relate compares two numbers by value.
func relate(op string, x, y *big.Int) bool {
	c := x.Cmp(y)
	switch op {
	case "==":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

func bigOf(v int64, unsigned bool) *big.Int {
	if unsigned {
		return new(big.Int).SetUint64(uint64(v))
	}
	return big.NewInt(v)
}

var edges = []int64{0, 1, 2, -1, -2, 99, 100, 101, 127, 128, -128, -129, 255, 256, 32767, 32768,
	-32768, 65535, 65536,
	2147483647, 2147483648, -2147483648, -2147483649, 4294967295, 4294967296, 1<<62 + 1, 1<<63 - 1, -1 << 63}

// TestCompareFieldConst checks the fused comparisons, and the general ones of
// Compare, by value: all relations, fields, both sides, constants of both
// signs.
func TestCompareFieldConst(t *testing.T) {
	schema := testSchema()
	for env := range exprtest.Edges {
		e := exprtest.EventOf(env)
		for _, name := range append(exprtest.Integers, "_cpu", "common_type") {
			fld, _ := schema.Field(name)
			have, _ := fld.Int(e)
			x := bigOf(have, !fld.Signed)
			for _, k := range edges {
				for _, unsigned := range []bool{false, true} {
					c := Retype(NewInt(k), unsigned)
					y := bigOf(k, unsigned)
					for _, op := range []string{"==", "!=", "<", "<=", ">", ">="} {
						a, err1 := Compare(op, NewField(fld, Self), c)
						b, err2 := Compare(op, c, NewField(fld, Self))
						if err1 != nil || err2 != nil {
							t.Fatal(err1, err2)
						}
						var f Frame
						f.Reset(e)
						if got, want := Build(a).Bool(&f), relate(op, x, y); got != want || f.Err != nil {
							t.Errorf("%s=%v %s %v: got %v (%v), want %v", name, x, op, y, got, f.Err, want)
						}
						if got, want := Build(b).Bool(&f), relate(op, y, x); got != want {
							t.Errorf("%v %s %s=%v: got %v, want %v", y, op, name, x, got, want)
						}
					}
				}
			}
		}
	}
}

func TestCompareFieldField(t *testing.T) {
	schema := testSchema()
	for env := range exprtest.Edges {
		e := exprtest.EventOf(env)
		for _, xn := range exprtest.Integers {
			for _, yn := range exprtest.Integers {
				xf, _ := schema.Field(xn)
				yf, _ := schema.Field(yn)
				xv, _ := xf.Int(e)
				yv, _ := yf.Int(e)
				for _, op := range []string{"==", "!=", "<", "<=", ">", ">="} {
					n, err := Compare(op, NewField(xf, Self), NewField(yf, Self))
					if err != nil {
						t.Fatal(err)
					}
					var f Frame
					f.Reset(e)
					want := relate(op, bigOf(xv, !xf.Signed), bigOf(yv, !yf.Signed))
					if got := Build(n).Bool(&f); got != want || f.Err != nil {
						t.Errorf("%s=%d %s %s=%d: got %v, want %v", xn, xv, op, yn, yv, got, want)
					}
				}
			}
		}
	}
}

// TestFusedAnd checks && of two and three comparisons against && of their
// parts.
func TestFusedAnd(t *testing.T) {
	parts := []string{"i32 < 5", "n16 >= 1000", "i8 != -1", "n64 > 77", "flag == 1",
		"n32 == 4294967293", "!(i16 < 0)", "n8 & 4", "i64"}
	for env := range exprtest.Edges {
		e := exprtest.EventOf(env)
		var f Frame
		f.Reset(e)
		truth := map[string]bool{}
		for _, p := range parts {
			prog, err := cexpr.Compile(p, testScope())
			if err != nil {
				t.Fatal(err)
			}
			truth[p] = prog.Bool(&f)
		}
		for _, a := range parts {
			for _, b := range parts {
				for _, c := range parts {
					for src, want := range map[string]bool{
						fmt.Sprintf("%s && %s", a, b):          truth[a] && truth[b],
						fmt.Sprintf("%s && %s && %s", a, b, c): truth[a] && truth[b] && truth[c],
						fmt.Sprintf("%s || %s && %s", a, b, c): truth[a] || truth[b] && truth[c],
					} {
						p, err := cexpr.Compile(src, testScope())
						if err != nil {
							t.Fatal(err)
						}
						if got := p.Bool(&f); got != want || f.Err != nil {
							t.Fatalf("%s in event %d: got %v (%v), want %v", src, env, got, f.Err, want)
						}
					}
				}
			}
		}
	}
}

func TestFusedText(t *testing.T) {
	e := testEvent()
	var f Frame
	f.Reset(e)
	for _, field := range []string{"comm", "full", "filename", "rel"} {
		fld, _ := testSchema().Field(field)
		have := string(fld.Text(e))
		for _, k := range []string{
			"", "b", "bash", "bashj", "bash\x00", "bash\x00junk", "full", "fullx", "ful", "/etc/passwd",
			"relative",
		} {
			x, y := NewField(fld, Self), NewStr(k)
			for op, want := range map[Op]bool{
				OpStrEq: have == k, OpStrNe: have != k,
				OpPrefix: len(have) >= len(k) && have[:len(k)] == k,
				OpSuffix: len(have) >= len(k) && have[len(have)-len(k):] == k,
			} {
				n, err := NewBinary(op, x, y)
				if err != nil {
					t.Fatal(err)
				}
				if got := Build(n).Bool(&f); got != want || f.Err != nil {
					t.Errorf("%s=%q %s %q: got %v (%v), want %v", field, have, op, k, got, f.Err, want)
				}
			}
		}
	}
}

func TestGlob(t *testing.T) {
	f := func(pattern, s string, want bool) {
		t.Helper()
		if got := glob.Match([]byte(pattern), []byte(s)); got != want {
			t.Errorf("%q ~ %q: got %v, want %v", s, pattern, got, want)
		}
		if got := MatchCompiled(pattern, []byte(s)); got != want {
			t.Errorf("%q ~ %q compiled: got %v, want %v", s, pattern, got, want)
		}
	}
	f("", "", true)
	f("", "a", false)
	f("*", "", true)
	f("**", "abc", true)
	f("abc", "abc", true)
	f("abc", "abcd", false)
	f("a*", "abc", true)
	f("*c", "abc", true)
	f("*b*", "abc", true)
	f("a*c*e", "abcde", true)
	f("a*c*e", "abcdef", false)
	f("?", "", false)
	f("???", "abc", true)
	f("[abc]x", "bx", true)
	f("[abc]x", "dx", false)
	f("[a-c]", "b", true)
	f("[a-c]", "-", false)
	f("[!a-c]", "d", true)
	f("[^a-c]", "a", false)
	f("[]]", "]", true)
	f("[!]]", "a", true)
	f("[a-]", "-", true)
	f("[", "[", true)
	f("[a", "[a", true)
	f("*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false)
	f("*sh", "bash", true)
	f("kworker/[0-9]*:*", "kworker/0:1-events", true)
}
