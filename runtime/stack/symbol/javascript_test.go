package symbol

import "testing"

func TestJavaScript(t *testing.T) {
	f := func(in, name, dso string) {
		t.Helper()
		if n, d := javaScript(in); n != name || d != dso {
			t.Errorf("%s: got %s in %s, want %s in %s", in, n, d, name, dso)
		}
	}
	f("JS:*much /tmp/n.js:1:14", "much /tmp/n.js:1:14", "[jit]")
	f("JS:^much /tmp/n.js:1:14", "much /tmp/n.js:1:14", "[jit]")
	f("JS:~much /tmp/n.js:1:14", "much /tmp/n.js:1:14", "[interpreted]")
	f("LazyCompile:*g file:///a.mjs:3:4", "g file:///a.mjs:3:4", "[jit]")
	f("JS:~ node:internal/main:1:1", "(anonymous) node:internal/main:1:1", "[interpreted]")
	f("Builtin:ArrayMap", "Builtin:ArrayMap", "[jit]")
	f("ns::f(int)", "ns::f(int)", "[jit]")
	f("Interpreter", "Interpreter", "[jit]")
	f("JS:", "JS:", "[jit]")
}
