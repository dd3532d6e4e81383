package cgroup

import "testing"

func TestBasicRegularExpressions(t *testing.T) {
	for in, want := range map[string]string{
		`a.*b`:        `a.*b`,
		`*x`:          `\*x`,
		`a\(b\|c\)\+`: `a(b|c)+`,
		`a(b)+?`:      `a\(b\)\+\?`,
		`[]a*]x$`:     `[]a*]x$`,
		`\.slice`:     `\.slice`,
		`a\{2\}`:      `a{2}`,
	} {
		if got := basicToGo(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
