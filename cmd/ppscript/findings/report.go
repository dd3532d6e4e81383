// Package findings checks the machine for `ppscript doctor` and writes the result: which kinds of
// events work here, how much memory and time scripts may use, and a remedy for each problem.
package findings

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
)

// examine runs all checks of the machine and of the limits for scripts.
func examine(ctx context.Context) []kernel.Check {
	checks := kernel.Doctor(ctx, kernel.DoctorOptions{Tracefs: func() (string, error) {
		fs, err := tracefs.Find()
		if err != nil {
			return "", err
		}
		return fs.Root(), nil
	}})
	return append(checks, scriptLimits(limits.Read(limits.File, sign.RootsOwn)))
}

// colors has the terminal color of each status.
var colors = map[string]string{
	kernel.OK.String(): "32", kernel.Warn.String(): "33", kernel.Fail.String(): "1;31",
	kernel.Unknown.String(): "33",
}

// word pads a status to the width of its column, and colors it.
func word(status string, colored bool) string {
	text := fmt.Sprintf("%-7s", status)
	if colored {
		text = "\x1b[" + colors[status] + "m" + text + "\x1b[0m"
	}
	return text
}

// Report writes the checks as text, failures first. A remedy for several checks is written once,
// after the last of them. bad says that a kind of event cannot be used.
func Report(ctx context.Context, to io.Writer, colored bool) (bad bool, err error) {
	checks := examine(ctx)
	name := 0
	for _, x := range checks {
		name = max(name, len(x.Name))
		bad = bad || x.Status == kernel.Fail
	}
	byNeed(checks)
	w := bufio.NewWriter(to)
	for i, x := range checks {
		fmt.Fprintf(w, "%s  %-*s  %s\n", word(x.Status.String(), colored), name, x.Name, oneLine(x.Detail))
		if x.Fix != "" && (i+1 == len(checks) || checks[i+1].Fix != x.Fix) {
			fmt.Fprintf(w, "%7s  %-*s  -> %s\n", "", name, "", oneLine(x.Fix))
		}
	}
	return bad, w.Flush()
}

// urgency is the order in which statuses are listed, the worst first.
var urgency = []kernel.Status{kernel.Fail, kernel.Unknown, kernel.Warn, kernel.OK}

// byNeed sorts checks by urgency. Checks with the same remedy stay together, at the place of the
// most urgent one.
func byNeed(checks []kernel.Check) {
	// A check without a remedy stands alone.
	of := func(x *kernel.Check) string { return cmp.Or(x.Fix, x.Name) }
	place := map[string][2]int{} // of each remedy: the urgency of the worst check, the index of the first
	for i := range checks {
		x := &checks[i]
		urgent := slices.Index(urgency, x.Status)
		p, seen := place[of(x)]
		if !seen {
			p = [2]int{urgent, i}
		}
		place[of(x)] = [2]int{min(p[0], urgent), p[1]}
	}
	slices.SortStableFunc(checks, func(a, b kernel.Check) int {
		p, q := place[of(&a)], place[of(&b)]
		return cmp.Or(cmp.Compare(p[0], q[0]), cmp.Compare(p[1], q[1]))
	})
}

// scriptLimits reports the limits of this machine for the code of scripts. err
// is set if their file cannot be used.
func scriptLimits(p limits.Policy, err error) kernel.Check {
	c := kernel.Check{Name: "script limits", Status: kernel.OK, Detail: p.Line()}
	if err != nil {
		c.Status, c.Detail, c.Fix = kernel.Warn, err.Error()+": no script runs", diag.HintOf(err)
	}
	return c
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
