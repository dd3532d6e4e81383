package pipeline

import (
	"regexp"
	"strings"
	"testing"

	b "ppscript/builtins"
	"ppscript/runtime/plan"
)

// Names that other tools have are answered with code that exists, and are no names of methods.
func TestHabits(t *testing.T) {
	first, aggregator := regexp.MustCompile(`^(?:STREAM)?\.(\w+)`), regexp.MustCompile(`agg\.\w+`)
	known := map[string]bool{}
	for _, x := range aggregators() {
		known[x.Name] = true
	}
	f := func(of *b.MethodSet, answers b.Habit, in *b.MethodSet) {
		t.Helper()
		for name, code := range answers {
			if v, err := of.Attr(nil, name); v != nil || err != nil {
				t.Errorf("%s is a method, and answered with %s", name, code)
			}
			if m := first.FindStringSubmatch(code); m != nil {
				if v, err := in.Attr(nil, m[1]); v == nil || err != nil {
					t.Errorf("%s: %s has no method %s", name, code, m[1])
				}
			}
			for _, a := range aggregator.FindAllString(code, -1) {
				if !known[a] {
					t.Errorf("%s: %s is no aggregator", name, a)
				}
			}
		}
	}
	f(methods(), habits, methods())
	f(methods(), numbers, methods())
	f(groupMethods(), numbers, groupMethods())
	f(groupMethods(), ofGroups, methods())

	_, err := (&Stream{S: &plan.Source{}}).Attr("group_by")
	if err == nil || !strings.Contains(err.Error(), `has no .group_by field or method: write .by("comm")`) {
		t.Errorf("got %v, want what to write", err)
	}
	_, err = (&groups{}).Attr("p99")
	if err == nil || !strings.Contains(err.Error(), `write .agg(agg.quantile("FIELD", 0.99))`) {
		t.Errorf("got %v, want what to write", err)
	}
}
