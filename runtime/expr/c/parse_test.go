package c

import (
	"errors"
	"strings"
	"testing"

	"ppscript/runtime/text/diag"
)

func TestParse(t *testing.T) {
	f := func(src, want string) {
		t.Helper()
		n, err := Parse(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			return
		}
		if got := n.String(); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
	// Precedence and associativity, one level against the next.
	f("1+2*3", "(1 + (2 * 3))")
	f("1-2-3", "((1 - 2) - 3)")
	f("1<<2+3", "(1 << (2 + 3))")
	f("1<2<<3", "(1 < (2 << 3))")
	f("a ~ b == c", "((a ~ b) == c)")
	f("a == b < c", "(a == (b < c))")
	f("a & b == c", "(a & (b == c))")
	f("a ^ b & c", "(a ^ (b & c))")
	f("a | b ^ c", "(a | (b ^ c))")
	f("a && b | c", "(a && (b | c))")
	f("a || b && c", "(a || (b && c))")
	f("a ? b : c ? d : e", "(a ? b : (c ? d : e))")
	f("a = b = c", "(a = (b = c))")
	f("a += b, c", "((a += b) , c)")
	f("a ? b, c : d", "(a ? (b , c) : d)")
	f("a ?: b", "(a ?: b)")
	f("-a++", "(-(a++))")
	f("- -a", "(-(-a))")
	f("!~*&a", "(!(~(*(&a))))")
	f("a+++b", "((a++) + b)")
	f("++a[1]", "(++a[1])")
	f("~a ~ b", "((~a) ~ b)")
	// Casts against parentheses.
	f("(char)300", "((char)300)")
	f("(a)", "a")
	f("(a)+1", "(a + 1)")
	f("(int)+1", "((int)(+1))")
	f("(unsigned long long)a << 1", "(((unsigned long long)a) << 1)")
	f("(long long unsigned int)a", "((unsigned long long)a)")
	f("*(int *)p", "(*((int *)p))")
	f("(char *)&common_type + filename_offset", "(((char *)(&common_type)) + filename_offset)")
	f("((struct sk_buff *)p)->len", "((struct sk_buff *)p)->len")
	f("(u64)(a)", "((u64)a)")
	f("( gfp_t)((1))", "((gfp_t)1)")
	f("(foo_t)(a)", "((foo_t)a)")
	f("(foo)(a)", "foo(a)")
	f("(foo)a", "((foo)a)")
	f("(foo **)a", "((foo **)a)")
	f("(const char *)a", "((char *)a)")
	f("(foo)-1", "(foo - 1)")
	f("sizeof(int) + sizeof a + sizeof(a[0])", "((sizeof(int) + sizeof(a)) + sizeof(a[0]))")
	f("sizeof(unsigned int)", "sizeof(unsigned int)")
	f("(u32 + 3)", "(u32 + 3)")
	f("sizeof(a)[0]", "sizeof(a[0])")
	f("(typeof(a))b", "((typeof(a))b)")
	// Literals.
	f("0x10 + 010 + 0b11 + 10", "(((16 + 8) + 3) + 10)")
	f("1u + 1l + 1ull + 0xffffffff + 4294967295", "((((1U + 1L) + 1UL) + 4294967295U) + 4294967295L)")
	f("0xffffffffffffffff", "18446744073709551615UL")
	f(`'a' + '\n' + '\0' + '\xff' + '\''`, "((((97 + 10) + 0) + (-1)) + 39)")
	f(`"a" "b\n" "\x41\101"`, `"ab\nAA"`)
	// Calls, lists, members, statements, comments.
	f(`printf("%d %s\n", pid, comm), pid`, `(printf("%d %s\n", pid, comm) , pid)`)
	f("f()", "f()")
	f(`__print_symbolic(REC->x, { 0, "A" }, {(1 << 1), "B",})`, `__print_symbolic(REC->x, {0, "A"}, {(1 << 1), "B"})`)
	f("a.b.c[1]->d", "a.b.c[1]->d")
	f("({ int x = (a); int y = 2; ((x) < (y) ? (x) : (y)); })", "({int x = a; int y = 2; ((x < y) ? x : y);})")
	f(`({ static const char *s[] = { "a", "b" }; union u r; r.w = 1; s[r.w]; })`,
		`({char *[] s = {"a", "b"}; union u r; (r.w = 1); s[r.w];})`)
	f("pid // the thread\n+ 1 # more", "(pid + 1)")
	f("pid /* x */ + 1", "(pid + 1)")
	f("__extension__ ({ __auto_type x = 1; x; })", "({auto x = 1; x;})")
}

func TestParseErrors(t *testing.T) {
	f := func(src string, col int, want string) {
		t.Helper()
		_, err := Parse(src)
		var e *diag.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an error with %q", src, err, want)
			return
		}
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%s: got %q, want %q", src, e.Error(), want)
		}
		lines := strings.Split(e.Excerpt, "\n")
		if got := len(lines[len(lines)-1]) - 4; got != col {
			t.Errorf("%s: caret in column %d, want %d\n%s", src, got, col, e.Excerpt)
		}
		if e.Class != diag.Usage {
			t.Errorf("%s: class %d, want usage", src, e.Class)
		}
	}
	f("pid 3 4", 5, `unexpected "3" after the end`)
	f("pid @ 3", 5, `unexpected character '@'`)
	f("1.5+2", 1, "floating-point")
	f("1e3", 1, "floating-point")
	f(`"abc`, 1, "string is not closed")
	f("\"abc\n\"", 1, "string is not closed")
	f("09", 1, "octal")
	f("0x", 1, "no digits")
	f("12ab", 1, "suffix")
	f("1lL", 1, "suffix")
	f("18446744073709551616", 1, "does not fit 64 bits")
	f("9223372036854775808", 1, "add the suffix u")
	f("'ab'", 1, "one byte")
	f("''", 1, "empty")
	f("'a", 1, "not closed")
	f(`"\q"`, 2, `unknown escape \q`)
	f("", 1, "empty")
	f("  ", 1, "empty")
	f("a +", 4, "got the end, want a value")
	f("(a", 3, `want ")"`)
	f("a)", 2, `unexpected ")"`)
	f("f(a b)", 5, "after the arguments")
	f("a[1", 4, `want "]"`)
	f("a->1", 4, "name of a member")
	f("a ? b", 6, `want ":"`)
	f("{1}", 1, "want a value")
	f("(unsigned char long)a", 2, "is not a type")
	f("a = ", 5, "want a value")
	f("/* x", 1, "comment is not closed")
	f("a\n  + @", 5, "unexpected character")
	f(strings.Repeat("(", 1000)+"1", 61, "nested deeper")
}

func TestParseLongSum(t *testing.T) {
	n, err := Parse("1" + strings.Repeat("+1", 5000))
	if err != nil {
		t.Fatal(err)
	}
	depth := 0
	for b, ok := n.(*Binary); ok; b, ok = b.X.(*Binary) {
		depth++
	}
	if depth != 5000 {
		t.Errorf("got %d additions, want 5000", depth)
	}
}

func TestParseArgs(t *testing.T) {
	args, err := ParseArgs(`"a=%s" " b=%d", __get_str(name), REC->x ? "y" : "n"`)
	if err != nil {
		t.Fatal(err)
	}
	if len(args) != 3 {
		t.Fatalf("got %d arguments, want 3", len(args))
	}
	if s := args[0].(*String).Value; s != "a=%s b=%d" {
		t.Errorf("format: got %q", s)
	}
	if got := args[2].String(); got != `(REC->x ? "y" : "n")` {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{"", "1", `"a" + 1`, `"a", `, `"a" b`, `"a", 1;`} {
		if _, err := ParseArgs(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestTypeNamed(t *testing.T) {
	f := func(name string, size int, unsigned bool) {
		t.Helper()
		typ, ok := TypeNamed(name)
		if !ok || typ.Size != size || typ.Unsigned != unsigned {
			t.Errorf("%s: got %+v %v, want size %d unsigned %v", name, typ, ok, size, unsigned)
		}
	}
	f("char", 1, false)
	f("unsigned", 4, true)
	f("unsigned short int", 2, true)
	f("long", 8, false)
	f("long long unsigned", 8, true)
	f("size_t", 8, true)
	f("pid_t", 4, false)
	f("const char *", 8, true)
	f("enum hrtimer_mode", 4, true)
	f("dma_addr_t", 8, true)
	f("u8 [6]", 6, false)
	for _, bad := range []string{"", "nonsense_t", "1", "int x", "short long"} {
		if typ, ok := TypeNamed(bad); ok {
			t.Errorf("%q: got %v, want none", bad, typ)
		}
	}
}

func TestErrorExcerptIsCut(t *testing.T) {
	e := Errorf(strings.Repeat("é", 100)+"@"+strings.Repeat("x", 100), 200, "bad")
	lines := strings.Split(e.Excerpt, "\n")
	caret := strings.Index(lines[1], "^")
	if got := []rune(lines[0])[caret]; got != '@' {
		t.Errorf("caret points at %q, want @\n%s", got, e.Excerpt)
	}
	if !strings.Contains(e.Error(), "column 101") {
		t.Errorf("got %q, want column 101", e.Error())
	}
}
