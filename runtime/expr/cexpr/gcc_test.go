package cexpr

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/exprtest"
	"ppscript/tests/testkit"
)

// This file compares C expressions with gcc. The quick test reads a corpus; with
// `make test-all` new expressions are generated (of the seed PPSCRIPT_SEED) and gcc is asked. -update
// writes the corpus anew.

var update = flag.Bool("update", false, "write testdata anew (needs gcc)")

const corpus = "testdata/gcc.txt"

// A gccCase is one expression over one of the events of exprtest.Edges, with gcc's
// result.
type gccCase struct {
	src      string
	env      int
	value    uint64
	size     int
	unsigned bool
}

func (c *gccCase) check(t *testing.T, e *event.Event) {
	t.Helper()
	p, err := Compile(c.src, testScope())
	if err != nil {
		t.Errorf("%s: %v", c.src, err)
		return
	}
	var f Frame
	f.Reset(e)
	got := uint64(p.Int(&f))
	if f.Err != nil || got != c.value {
		t.Errorf("%s in event %d: got %#x (%v), gcc has %#x\n%s", c.src, c.env, got, f.Err, c.value, p.Node)
	}
	if truth := p.Bool(&f); truth != (c.value != 0) {
		t.Errorf("%s in event %d: got truth %v of %#x", c.src, c.env, truth, c.value)
	}
	if p.Type.Unsigned != c.unsigned {
		t.Errorf("%s: got type %s, gcc has unsigned %v", c.src, p.Type, c.unsigned)
	}
	size, err := Compile("sizeof("+c.src+")", testScope())
	if err != nil {
		t.Errorf("sizeof(%s): %v", c.src, err)
		return
	}
	if got := size.Int(&f); got != int64(c.size) {
		t.Errorf("sizeof(%s): got %d, gcc has %d", c.src, got, c.size)
	}
}

func TestGccCorpus(t *testing.T) {
	if *update {
		cases := askGcc(t, 1, 600)
		var b strings.Builder
		b.WriteString(
			"# value size unsigned event expression; written by go test -run TestGccCorpus -update\n")
		for _, c := range cases {
			fmt.Fprintf(&b, "%#x %d %v %d %s\n", c.value, c.size, c.unsigned, c.env, c.src)
		}
		if err := os.WriteFile(corpus, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(corpus)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		w := strings.SplitN(lines.Text(), " ", 5)
		if len(w) != 5 {
			t.Fatalf("bad line %q", lines.Text())
		}
		c := gccCase{src: w[4], unsigned: w[2] == "true"}
		c.value, _ = strconv.ParseUint(w[0], 0, 64)
		c.size, _ = strconv.Atoi(w[1])
		c.env, _ = strconv.Atoi(w[3])
		c.check(t, exprtest.EventOf(c.env))
		n++
	}
	if n < 500 {
		t.Errorf("got %d cases, want at least 500", n)
	}
}

func TestGccRandom(t *testing.T) {
	testkit.Requires(t, testkit.Long, testkit.GCC)
	seed, err := strconv.ParseInt(os.Getenv("PPSCRIPT_SEED"), 10, 64)
	if err != nil {
		seed = rand.Int63()
	}
	t.Logf("seed %d", seed)
	var events []*event.Event
	for env := range exprtest.Edges {
		events = append(events, exprtest.EventOf(env))
	}
	checked := 0
	for round := int64(0); checked < 20_000 && round < 40 && !t.Failed(); round++ {
		for _, c := range askGcc(t, seed+round, 2000) {
			c.check(t, events[c.env])
			checked++
		}
	}
	if checked < 20_000 && !t.Failed() {
		t.Errorf("got %d expressions compared, want 20,000", checked)
	}
}

// askGcc generates n expressions and has gcc evaluate them; none if gcc breaks.
func askGcc(t *testing.T, seed int64, n int) []gccCase {
	testkit.Requires(t, testkit.GCC)
	g := &gen{rand.New(rand.NewSource(seed))}
	types := []string{"signed char", "unsigned char", "short", "unsigned short", "_Bool",
		"int", "unsigned int", "long", "unsigned long", "int"}
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <stdbool.h>\ntypedef unsigned char u8; typedef short s16;" +
		" typedef unsigned int u32; typedef long s64;\n")
	cases := make([]gccCase, n)
	for i := range cases {
		c := gccCase{src: g.program(), env: g.r.Intn(len(exprtest.Edges))}
		cases[i] = c
		fmt.Fprintf(&b, "static void e%d(void) {", i)
		for k, f := range exprtest.Integers {
			fmt.Fprintf(&b, " %s %s = %d%s;", types[k],
				f, exprtest.Edges[c.env][k]+boolToInt(exprtest.Edges[c.env][k] == -1<<63), "L")
			if exprtest.Edges[c.env][k] == -1<<63 {
				fmt.Fprintf(&b, " %s--;", f)
			}
		}
		fmt.Fprintf(&b, "\nunsigned long v = (unsigned long)(%s);", c.src)
		fmt.Fprintf(&b, "\nprintf(\"%%lu %%d %%d\\n\", v, (int)sizeof(%s), (__typeof__((%s)))-1 > 0); }\n",
			c.src, c.src)
	}
	b.WriteString("int main(void) { setvbuf(stdout, 0, _IOLBF, 0);")
	for i := range cases {
		fmt.Fprintf(&b, " e%d();", i)
	}
	b.WriteString(" return 0; }\n")
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "e.c"), filepath.Join(dir, "e")
	if err := os.WriteFile(src, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O0", "-w", "-fwrapv", "-fsigned-char", "-o", bin, src).
		CombinedOutput(); err != nil {
		if strings.Contains(string(out), "internal compiler error") {
			t.Logf("gcc has a bug with the expressions of seed %d", seed) // (bool)((1u), 971)
			return nil
		}
		t.Fatalf("gcc: %v\n%.2000s", err, out)
	}
	out, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatalf("%v in %s", err, cases[strings.Count(string(out), "\n")].src)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != n {
		t.Fatalf("got %d results, want %d", len(lines), n)
	}
	for i, line := range lines {
		unsigned := 0
		if _, err := fmt.Sscan(line, &cases[i].value, &cases[i].size, &unsigned); err != nil {
			t.Fatal(err)
		}
		cases[i].unsigned = unsigned != 0
	}
	return cases
}

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
