package fleet

import (
	"slices"
	"testing"
)

// What is behind a line end is not left out in silence: line ends and other control characters are refused.
func TestTextsAreOneLine(t *testing.T) {
	f := func(value string, want ...string) {
		t.Helper()
		var got texts
		if err := got.Set(value); (err == nil) != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", value, got, err, want)
		}
	}
	f("role=db,rack=r7", "role=db", "rack=r7")
	f(`"a=b,c",d=e=f`, "a=b,c", "d=e=f")
	f("role=db\nrack=r7")
	f("role=db\n")
	f("role=\"d\nb\"")
	f("role=db\x00x")
	f(`"role=db`)
	for _, label := range []string{"role=d\nb", "ro\x00le=db", "role=\x1b[1m", "=db", "role=", "role"} {
		if got, err := parseLabels("label", []string{label}); err == nil {
			t.Errorf("%q: got %q, want an error", label, got)
		}
	}
}

// The options of fleet run that take several values refuse them.
func TestOptionsAreOneLine(t *testing.T) {
	p := &Program{}
	for _, option := range []string{"label", "files"} {
		f := p.run().Flags()
		if err := f.Set(option, "a=b\nc=d"); err == nil {
			t.Errorf("--%s: got no error", option)
		}
		if err := f.Set(option, "a=b,c=d"); err != nil || f.Lookup(option).Value.String() != "a=b,c=d" {
			t.Errorf("--%s: got %v, %v", option, f.Lookup(option).Value, err)
		}
	}
	if err := p.agent().Flags().Set("label", "a=b\nc=d"); err == nil {
		t.Error("agent --label: got no error")
	}
}
