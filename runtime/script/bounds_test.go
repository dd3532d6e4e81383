package script

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"

	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
	"ppscript/tests/testkit"
)

// loaded runs a program's main under small limits and returns the error.
func loaded(t *testing.T, text string) error {
	t.Helper()
	h := NewHost(HostOptions{Limits: limits.Policy{Memory: 64 << 20, Steps: 200_000_000}})
	m, err := h.LoadSource("x.star", text)
	if err == nil && m.Main != nil {
		_, err = h.Call(m.Main)
	}
	return err
}

// Each of these would take more memory, stack or time than there is. The error
// points at the line.
func TestWhatIsTooLarge(t *testing.T) {
	testkit.Requires(t, testkit.Plain)
	before := HeapInUse()
	f := func(text, pos, want string) {
		t.Helper()
		began := testkit.CPUTime(t)
		err := loaded(t, text)
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
			return
		}
		// The head of a loop has no position of its own: what is stopped there
		// points at the function, or the file.
		if !strings.HasPrefix(d.Pos, "x.star:"+pos) &&
			!(strings.Contains(err.Error(), "stopped: ") && d.Pos == "x.star:1:1") {
			t.Errorf("%s: got %v, want it at %s", text, err, pos)
		}
		if took := testkit.CPUTime(t) - began; took > 20*time.Second {
			t.Errorf("%s: took %v of CPU", text, took)
		}
	}
	large := "too large"
	f("x = [0] * 1000000000", "1:9", large)
	f("x = 1000000000 * (0, 1)", "1:16", large)
	f("x = 'ab' * 1000000000", "1:10", large)
	f("x = b'ab' * 1000000000", "1:11", large)
	f("x = [0]\nx *= 1000000000", "2:3", large)
	f("d = {'a': [0]}\nd['a'] *= 1000000000", "2:8", large)
	f("def f(x = [0] * 1000000000):\n    return x", "1:15", large)
	f("f = lambda x = [0] * 1000000000: x", "1:20", large)
	f("x = [i for i in [0] * 1000000000]", "1:21", large)
	f("x = 3\nfor i in range(100):\n    x *= x", "3:7", large)
	for _, fn := range []string{
		"list", "tuple", "set", "sorted", "reversed", "enumerate", "zip", "max", "min", "any", "all",
		"bytes",
	} {
		f("x = "+fn+"(range(1000000000000))", "1:5", large)
	}
	f("x = []\nx += range(1000000000000)", "2:3", large)
	f("x = []\nx.extend(range(1000000000000))", "2:3", large)
	f("x = getattr([], 'extend')(range(1000000000000))", "1:5", large)
	f("x = set([1]).union(range(1000000000000))", "1:14", large)
	f("print(*range(1000000000000))", "1:7", large)
	big := "b = 'x' * 60000000\n"
	f(big+"x = b.replace('x', 'yyyyyyyyyy')", "2:7", large)
	f(big+"x = b.join(['a', 'b', 'c'])", "2:7", large)
	f(big+"x = '{0}{0}{0}'.format(b)", "2:17", large)
	f(big+"x = '%s%s' % (b, b)", "2:12", large)
	f(big+"x = '%(a)s%(a)s' % {'a': b}", "2:18", large)
	f(big+"x = '%s %s'\nx %= (b, b)", "3:3", large)
	f(big+"x = str([b, b])", "2:5", large)
	f(big+"x = b.split('x')", "2:7", large)
	f(big+"x = int(b)", "2:5", large)
	f("l = [0]\nfor i in range(40):\n    l = [l, l]\nx = str(l)", "4:5", large)
	f("t = (0,)\nfor i in range(60):\n    t = (t, t)", "1:1", "nested")

	f("def main():\n    l = []\n    l.append(l)\n    return l", "1:1", "in itself")
	f("def main():\n    l = []\n    for i in range(1000000):\n        l = [l]\n    return l", "1:1", "nested")
	f("l = []\nfor i in range(1000000):\n    l = [l]", "1:1", "nested")
	f("t = ()\nfor i in range(1000000):\n    t = (t,)\nprint(t)", "4:1", "nested")
	f("t = ()\nfor i in range(1000000):\n    t = (t,)\nx = '%s' % (t,)", "4:10", "nested")

	holds := "what it holds is larger than 64 MiB"
	f("def main():\n    s = 'x'\n    while True:\n        s = s + s", "4:15", large)
	f("def main():\n    l = [0]\n    while True:\n        l = l + l", "4:15", large)
	// by the operation or the watchdog
	f("def main():\n    s = 'x'\n    while True:\n        s += s", "4:11", "large")
	f("def main():\n    l = [0]\n    while True:\n        l += l", "4:11", "large")
	f("def main():\n    s = 1000000 * 'x'\n    l = []\n    while True:\n        l.append(s + 'y')", "5:", holds)
	f("l = []\nwhile True:\n    l.append(1)", "3:", holds)
	f("x = [[i, i, i] for i in range(1000000000000)]", "1:", holds)
	f("x = 1\nwhile True:\n    x = x << 500", "3:11", large)
	f("x = 1\nwhile True:\n    x <<= 500", "3:7", large)

	f("x = "+strings.Repeat("(", 100_000), "1:505", "brackets")
	row := "more than 5000 operators, calls or elif follow each other"
	f("x = "+strings.Repeat("1+", 500_000)+"1", "1:", row)
	f("x = 1\ny = "+strings.Repeat("x and ", 150_000)+"1", "2:", row)
	f("x = 'a'"+strings.Repeat(".upper()", 120_000), "1:", row)
	f("x = 0\nif x: x\n"+strings.Repeat("elif x: x\n", 100_000), "", row)
	f("def g(x):\n if x: x\n"+strings.Repeat(" elif x: x\n", 90_000), "", row)
	if err := loaded(t, "x = "+strings.Repeat("1+", 4000)+"1\nif x == 0: x\n"+
		strings.Repeat("elif x == 1: x\n", 4000)); err != nil {
		t.Errorf("4000 in a row: got %v, want nil", err)
	}
	f("x = \"\"\""+strings.Repeat("(", 100_000)+"\n\"\"\"\ny = [0] * 1000000000", "3:9", large)
	f("# "+strings.Repeat("(", 100_000)+"\ny = [0] * 1000000000", "2:9", large)
	if err := loaded(t, strings.Repeat("#", maxSource+1)); err == nil ||
		!strings.Contains(err.Error(), "want at most") {
		t.Errorf("got %v, want that the file is too long", err)
	}
	runtime.GC()
	if now := HeapInUse(); now > before+32<<20 {
		t.Errorf("%d MiB are still in use", (now-before)>>20)
	}
}

// TestGuardedCodeIsTheSame checks that results within the bounds are unchanged.
func TestGuardedCodeIsTheSame(t *testing.T) {
	err := loaded(t, `
def f(a, b = 2 * 3, *args, **kwargs):
    return a + b + len(args)
x = [1] * 3 + [2]
x *= 2
x += (5,)
x += range(2)
d = {"a": 3, "l": [1]}
d["a"] *= 4
d["l"] *= 2
d |= {"z": 1}
n = 0
def next():
    return "a"
d[next()] += 1
s = "-".join(["a", "b"]).replace("-", "+") + "%s %d" % ("x", 3) + "{} {x}".format(1, x = 2)
s += "%s %s"
s %= ("a", 1)
n <<= 3
t = "a,b".split(",") + " a b ".split() + "a\nb".splitlines()
u = set([1]).union([2], (3,))
g = getattr("a", "join")(["x", "y"])
y = f(*[1, 2, 3], **{"k": 1})
z = sorted([3, 1, 2], key = lambda v: -v, reverse = True)
m = max(3, 1), min([2, 3]), list(zip([1], [2])), dict([("a", 1)]), str([1, "a"]), int("12"), list("ab".elems())
def main():
    want = [x, d, s, t, u, g, y, z, m]
    got = str(want)
    if got != '[[1, 1, 1, 2, 1, 1, 1, 2, 5, 0, 1], {"a": 13, "l": [1, 1], "z": 1}, "a+bx 31 2a 1", ["a", "b", "a", "b", "a", "b"], ' + \
      'set([1, 2, 3]), "xay", 4, [1, 2, 3], (3, 2, [(1, 2)], {"a": 1}, "[1, \\"a\\"]", 12, ["a", "b"])]':
        fail(got)
`)
	if err != nil {
		t.Error(err)
	}
}

func TestTimeLimit(t *testing.T) {
	h := NewHost(HostOptions{Limits: limits.Policy{Time: 50 * time.Millisecond}})
	_, err := h.LoadSource("x.star", "while True:\n    pass")
	if err == nil || !strings.Contains(err.Error(), "stopped after 50ms") {
		t.Errorf("got %v, want that it took too long", err)
	}
}

// One step that does not end cannot be cancelled: the caller is told.
func TestHungIsTold(t *testing.T) {
	told := make(chan error)
	ended := make(chan struct{})
	d := starlark.NewBuiltin("endless",
		func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			<-ended
			return starlark.None, nil
		})
	h := NewHost(HostOptions{Limits: limits.Policy{Time: time.Millisecond},
		Predeclared: starlark.StringDict{"endless": d},
		Hung: func(why error) {
			select {
			case told <- why:
			case <-ended:
			}
		}})
	h.watchdog.grace = time.Millisecond
	done := make(chan error)
	go func() {
		_, err := h.LoadSource("x.star", "endless()")
		done <- err
	}()
	if err := <-told; !strings.Contains(err.Error(), "stopped after 1ms") {
		t.Errorf("got %v", err)
	}
	close(ended)
	<-done
}

// The prompt goes on after a statement that was stopped.
func TestPromptGoesOn(t *testing.T) {
	h := NewHost(HostOptions{Limits: limits.Policy{Memory: 64 << 20}})
	r := h.NewREPL()
	for _, text := range []string{
		"x = [0] * 1000000000\n", "l = []\nwhile True:\n    l.append(1)\n", "l = []; l.append(l); l\n",
	} {
		if _, err := r.Exec(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	if _, err := r.Exec("l = None\n"); err != nil {
		t.Fatal(err)
	}
	v, err := r.Exec("[1] * 2\n")
	if err != nil || v.String() != "[1, 1]" {
		t.Errorf("got %v, %v", v, err)
	}
	for _, n := range r.Complete("g") {
		if isGuard(n) {
			t.Errorf("%q is completed", n)
		}
	}
}
