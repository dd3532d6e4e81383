package recording

import (
	"bufio"
	"io"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/source/tracefs"
	"slices"
)

// USDT lists the USDT probes that text selects, or adds them to the kernel as tracepoints, or
// deletes them: verb is list, add or del.
func USDT(to io.Writer, verb, text string, verbose bool) error {
	chosen, err := probe.ParseUSDT(text)
	if err != nil {
		return err
	}
	var r probe.Resolver
	var lines []string
	var defs []probe.Definition
	for _, c := range chosen {
		notes, own, err := r.Definitions(c.Spec, c.Addr, c.Formats)
		if err != nil {
			return err
		}
		for i, d := range own {
			if slices.ContainsFunc(defs, func(have probe.Definition) bool { return have.Text == d.Text }) {
				continue // selected twice
			}
			defs = append(defs, d)
			lines = append(lines, notes[i].Line(c.Spec.File, d, verbose || verb == "add"))
		}
	}
	if verb != "list" {
		fs, err := tracefs.Find()
		if err != nil {
			return err
		}
		change := probe.Add
		if verb == "del" {
			change = probe.Delete
		}
		if err := change(fs.Root(), defs); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(to)
	for i := range defs {
		w.WriteString(lines[i])
		w.WriteByte('\n')
		for _, s := range defs[i].Skipped {
			if verbose || verb == "add" {
				w.WriteString("    left out " + s + "\n")
			}
		}
	}
	return w.Flush()
}
