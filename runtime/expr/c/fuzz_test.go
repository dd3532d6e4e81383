package c

import (
	"errors"
	"testing"

	"ppscript/runtime/text/diag"
)

// FuzzParse: there is a tree exactly when there is no error; a tree prints to
// a text that parses to the same text again; spans lie in the source.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"pid == 3 && comm ~ \"*sh\"", "(char)300", "a ? b : c", "({ int x = 1; x; })",
		`__print_flags(REC->f, "|", {1, "a"})`, "*(int *)((char *)&x + 4)", "a[1].b->c++", "'\\x41'",
		"sizeof(struct x *)", "1ull<<63", "(u8)-1 % 3, b = ~4", "a ?: -b", `comm == 'bash'`,
		`"a=%d" "\n", REC->a`, "({ union u r; r.w = 1; })",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if args, err := ParseArgs(src); (len(args) == 0) != (err != nil) {
			t.Fatalf("got %d arguments and error %v", len(args), err)
		}
		if n, err := ParseFilter(src); (n == nil) != (err != nil) {
			t.Fatalf("filter: got tree %v and error %v", n, err)
		}
		n, err := Parse(src)
		if (n == nil) != (err != nil) {
			t.Fatalf("got tree %v and error %v", n, err)
		}
		if err != nil {
			var e *diag.Error
			if !errors.As(err, &e) || e.Excerpt == "" {
				t.Fatalf("error without excerpt: %v", err)
			}
			return
		}
		if n.Pos() < 0 || n.Pos() > n.End() || n.End() > len(src) {
			t.Fatalf("span %d..%d of %d bytes", n.Pos(), n.End(), len(src))
		}
		if len(src) > 4096 {
			return
		}
		once := n.String()
		again, err := Parse(once)
		if err != nil {
			// Parentheses that were not written add nesting.
			return
		}
		if twice := again.String(); twice != once {
			t.Fatalf("got %s, want %s", twice, once)
		}
	})
}
