package probe

import (
	"strings"
	"testing"
)

// What users write of probes: declarations of arguments, breakpoints, USDT probes.
func FuzzDeclarations(f *testing.F) {
	for _, s := range []string{
		"int fd", "const char __user *path", "struct file **f", "enum x y", "unsigned long n", "*", "", "char *",
		"0xffffffff82a0c040/4:w", "jiffies/8:rw", "a/b/c:", "/:",
		"libstdcxx:throw@/usr/lib/libstdc++.so.6 +0(%s):string", "a@b@0x10", "@", "x=%ax file",
		"func+0x10", "operator+", "f+18446744073709551616",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, named := range []bool{false, true} {
			d, err := parseDecl(text, named)
			if err != nil {
				continue
			}
			if d.size != 1 && d.size != 2 && d.size != 4 && d.size != 8 || named != isIdent(d.name) {
				t.Errorf("%q: got %+v", text, d)
			}
		}
		if s, err := ParseBreakpoint(text); err == nil && s.Name == "" {
			t.Errorf("breakpoint %q: got no address", text)
		}
		list, err := ParseUSDT(text)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("USDT %q: got %d probes and %v", text, len(list), err)
		}
		for _, c := range list {
			if c.Spec.File == "" {
				t.Errorf("USDT %q: got no file", text)
			}
		}
		if fn, off, err := splitOffset(text); err != nil || off == 0 && !strings.HasPrefix(text, fn) {
			t.Errorf("%q: got %q+%#x, %v", text, fn, off, err)
		}
	})
}
