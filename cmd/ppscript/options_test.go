package main

import (
	"slices"
	"testing"

	"ppscript/cmd/ppscript/permit"
)

// TestEachCommonOptionIsRead: an option in the table that nobody reads would be
// accepted and do nothing.
func TestEachCommonOptionIsRead(t *testing.T) {
	asked := []string{"describe", "version", "help", "help-all"} // before anything is read
	seen := map[string]bool{}
	for _, f := range commonOptions(&common{}) {
		if (f.read == nil) != slices.Contains(asked, f.name) {
			t.Errorf("--%s: got a reader: %v", f.name, f.read != nil)
		}
		if f.group == "" || f.help == "" {
			t.Errorf("--%s: has no group or help", f.name)
		}
		for _, name := range []string{"--" + f.name, "-" + f.short} {
			if seen[name] && name != "-" {
				t.Errorf("%s is declared twice", name)
			}
			seen[name] = true
		}
	}
}

// TestCommonOptionsSetWhatTheySay: the values arrive.
func TestCommonOptionsSetWhatTheySay(t *testing.T) {
	fs := newFlags(nil)
	args := []string{"-p", "7,8", "-p", "9", "-i", "5ms", "--duration", "2", "-N", "3", "-m", "8",
		"--watermark", "0", "--engine=interp",
		"--strict", "-vv", "--flame-graph", "", "--lines", "no", "--clock-offset", "-5", "--order-mem", "1m",
		"--inherit=false"}
	if rest, _, err := fs.parse(args); err != nil || len(rest) > 0 {
		t.Fatal(rest, err)
	}
	c, err := readCommon(fs, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := c.options
	if !slices.Equal(c.target.PIDs, []int{7, 8, 9}) || o.Interval != 5e6 || o.Limits.Duration != 2e9 ||
		o.Limits.ExitN != 3 || o.Reading.Pages != 8 ||
		o.Reading.Watermark != 1 || o.Reading.Engine != "interp" || !c.strict || o.Verbose != 2 ||
		o.Stacks.FlameGraph != "-" ||
		o.Symbols.Lines != "no" ||
		o.Clock.Offset != -5 || o.Reading.OrderBytes != 1<<20 || c.target.Inherit == 0 {
		t.Errorf("got %+v, target %+v", o, c.target)
	}
}

// Each option in the tables of package permit exists, and each option that names a file or an address
// is in them, or only reads.
func TestOptionsThatDoMoreAreKnown(t *testing.T) {
	reads := []string{"input", "flame-base", "baseline", "symfs", "debug-dir", "kvmclock"}
	known := map[string]bool{}
	for _, f := range commonOptions(&common{}) {
		known[f.name] = true
		more := f.kind == aPath || f.metavar == "URL" || f.metavar == "ADDRESS"
		if more && permit.Look(f.name) == nil && !permit.Users(f.name) && !slices.Contains(reads, f.name) {
			t.Errorf("--%s: --look-only permits it, and it is none of those that read: %v", f.name, reads)
		}
	}
	for _, name := range permit.Options() {
		if !known[name] {
			t.Errorf("package permit knows --%s, which is no option", name)
		}
	}
}
