package engines

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/session"
	"ppscript/tests/testkit"
)

// explained returns the output of explain for a command line; "" if it fails.
func (p *planner) explained(t *testing.T, name string, c choice) string {
	t.Helper()
	cfg, ok := p.config(t, name, c)
	if !ok {
		return ""
	}
	d, err := session.Explain(cfg)
	if err != nil {
		return ""
	}
	return d.Text
}

// With no option may a function that runs for each event be interpreted. Only
// functions that format shown events may be.
func TestNothingIsInterpreted(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF)...)
	p := newPlanner(t)
	plans, found := 0, map[string]string{}
	for _, name := range scripts(t) {
		lines := append([]string{""}, required[name]...)
		for i := range Comparisons {
			if Comparisons[i].Script == name {
				lines = append(lines, Comparisons[i].Args)
			}
		}
		seen := map[string]bool{}
		for _, args := range lines {
			c := p.read(t, name, args, planWords)
			for _, o := range append([]setting{{}}, p.optionsOf(t, name, c)...) {
				if seen[o.String()] && args != lines[0] && o.name != "" {
					continue
				}
				more := c
				if o.name != "" {
					more = c.with(o)
				}
				text := p.explained(t, name, more)
				if text == "" {
					continue
				}
				seen[o.String()] = true
				plans++
				for _, line := range strings.Split(text, "\n") {
					f, ok := strings.CutPrefix(line, "function        interpreted ")
					if ok && !strings.HasSuffix(f, ", for what is shown") {
						found[f] = name + " " + args + " " + o.String()
					}
				}
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s: interpreted %s", found[f], f)
	}
	t.Logf("%d plans", plans)
	if plans < 300 {
		t.Errorf("got %d plans, want those of all scripts", plans)
	}
}
