package eventstring

import (
	"strings"
	"testing"
)

func TestWithFilter(t *testing.T) {
	f := func(text, filter, want string) {
		t.Helper()
		got, err := WithFilter(text, filter, nil)
		if err != nil || got != want {
			t.Errorf("%s and %s: got %s, %v, want %s", text, filter, got, err, want)
			return
		}
		list, err := Parse(got, nil)
		if err != nil || !strings.Contains(list[len(list)-1].Filter, filter) {
			t.Errorf("%s: got %v, %v, want the filter %s", got, list, err, filter)
		}
	}
	f("s:a", "pid == 1", "s:a/pid == 1/")
	f("s:a:k", "pid == 1", "s:a:k/pid == 1/")
	f("s:a,s:b", "pid == 1", "s:a,s:b/pid == 1/")
	f("s:a/prio > 3/key=pid/", "pid == 1", "s:a/(prio > 3) && (pid == 1)/key=pid/")
	f("s:a//key=pid/", `comm == "x"`, `s:a/comm == "x"/key=pid/`)
	f("s:a/'prio > 3'/k", "pid == 1", "s:a/(prio > 3) && (pid == 1)/k")
	f(`s:a/comm=="a,b"/,s:b//`, "pid == 1", `s:a/comm=="a,b"/,s:b/pid == 1/`)
	for _, text := range []string{"", "profile", "s:a/x"} {
		if got, err := WithFilter(text, "pid == 1", nil); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}
