package glob

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		if got := Match(pattern, name); got != want {
			t.Errorf("%s of %s: got %v, want %v", pattern, name, got, want)
		}
	}
	f("*", "", true)
	f("main.*", "main.(*T).Method", true)
	f("*/storage.*Store*", "git.com/paas/pkg/storage.NewStore.func1", true)
	f("wor?", "work", true)
	f("wor[a-k]", "work", true)
	f("wor[^a-k]", "work", false)
	f("[", "[", true)
	f("a*b*c", "aXbYbZc", true)
	f("a*b*c", "aXbYbZ", false)
	f("work", "works", false)
}

func TestMatchTakesNoExponentialTime(t *testing.T) {
	if Match(strings.Repeat("*a", 60)+"b", strings.Repeat("a", 2000)) {
		t.Error("matched")
	}
}
