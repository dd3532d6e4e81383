// Package findings writes what `ppscript doctor` found: what works on this machine, what scripts may
// take, and what mends the rest. The command calls it.
package findings

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
)

// examine makes the checks.
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

// colors are those of outcomes.
var colors = map[string]string{
	kernel.OK.String(): "32", kernel.Warn.String(): "33", kernel.Fail.String(): "1;31",
	kernel.Unknown.String(): "33",
}

// word is an outcome as a column shows it.
func word(status string, colored bool) string {
	text := fmt.Sprintf("%-7s", status)
	if colored {
		text = "\x1b[" + colors[status] + "m" + text + "\x1b[0m"
	}
	return text
}

// Report writes the outcome of the checks; bad says that a kind of event cannot be used.
func Report(ctx context.Context, to io.Writer, colored bool) (bad bool, err error) {
	checks := examine(ctx)
	name := 0
	for _, x := range checks {
		name = max(name, len(x.Name))
		bad = bad || x.Status == kernel.Fail
	}
	w := bufio.NewWriter(to)
	for _, x := range checks {
		fmt.Fprintf(w, "%s  %-*s  %s\n", word(x.Status.String(), colored), name, x.Name, oneLine(x.Detail))
		if x.Fix != "" {
			fmt.Fprintf(w, "%7s  %-*s  -> %s\n", "", name, "", oneLine(x.Fix))
		}
	}
	return bad, w.Flush()
}

// scriptLimits tells what scripts may take on this machine.
func scriptLimits(p limits.Policy, err error) kernel.Check {
	c := kernel.Check{Name: "script limits", Status: kernel.OK, Detail: p.Line()}
	if err != nil {
		c.Status, c.Detail, c.Fix = kernel.Warn, err.Error()+": no script runs", diag.HintOf(err)
	}
	return c
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
