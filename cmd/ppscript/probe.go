package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/source/probe"
	"ppscript/runtime/stack/listing"
	"ppscript/runtime/system/kerneltype"

	"github.com/spf13/cobra"
)

// This file has the command probe, which tells where probes can be. Scripts make the probes themselves.

func probeCommand(a *app) *cobra.Command {
	q := &probeQuestion{}
	c := &cobra.Command{
		Use:   "probe [-x FILE] -F [PATTERN] | -L FUNC|SOURCE:LINE | -V FUNC|SOURCE:LINE",
		Short: "Tell where a probe can be: functions, source lines, variables",
		Long: `-F lists functions, -L the source lines of a function or of a file where a probe can be, -V the variables at such a place. With -x they are those of a program or library, by its path or name, else those of the kernel.

Nothing has to be added before it can be probed: kprobe("FUNC"), uprobe("FILE", "FUNC") and uprobe("FILE", "SOURCE.c:LINE") in scripts, -e kprobe:FUNC and -e 'uprobe:FUNC@"FILE"' on the command line. Probes are gone when the run ends.

Lines and variables of programs need debug information (compile with -g, or have the debug file). Arguments of the kernel's functions come from its types.`,
		Example: `    ppscript probe -F 'vfs_*'
    ppscript probe -V vfs_read
    ppscript probe -x ./server -F 'parse_*'
    ppscript probe -x ./server -L parse_head
    ppscript probe -x ./server -L parse.c:120-140
    ppscript probe -x ./server -V parse.c:131`,
		RunE: func(c *cobra.Command, args []string) error { return q.answer(a, args) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVarP(&q.file, "exec", "x", "", "the program or library; else the kernel")
	f.BoolVarP(&q.funcs, "funcs", "F", false, "the functions, or those that match PATTERN")
	f.StringVarP(&q.line, "line", "L", "",
		"the source lines of FUNC, FUNC:3-7, SOURCE:10, SOURCE:10-20 or SOURCE:10+5")
	f.StringVarP(&q.vars, "vars", "V", "", "the variables at FUNC, FUNC+0x10 or SOURCE:10")
	f.StringSliceVarP(&q.sources, "source", "s", nil,
		"directories with source files, of which paths may lack the beginning")
	for _, o := range []struct{ name, short string }{{"add", "a"}, {"del", "d"}, {"definition", "D"}} {
		f.StringSliceVarP(&q.perfs, o.name, o.short, nil, "perf's, which needs no counterpart")
		_ = f.MarkHidden(o.name)
	}
	f.BoolVarP(&q.list, "list", "l", false, "perf's, which needs no counterpart")
	_ = f.MarkHidden("list")
	return c
}

// A probeQuestion has the options of the command.
type probeQuestion struct {
	file, line, vars string
	funcs, list      bool
	sources, perfs   []string
}

func (q *probeQuestion) answer(a *app, args []string) error {
	asked := 0
	for _, is := range []bool{q.funcs, q.line != "", q.vars != ""} {
		if is {
			asked++
		}
	}
	switch {
	case len(q.perfs) > 0 || q.list || asked == 0 && len(args) > 0:
		return usagef("probe", strings.Join(append(slices.Clone(q.perfs), args...), " "),
			"there is nothing to add, to list or to delete: a probe is there as long as a run").
			WithHint(`run it: ppscript trace -e kprobe:FUNC, or -e 'uprobe:FUNC@"FILE"'; ` +
				"where a probe can be: ppscript probe -F, -L, -V")
	case asked != 1:
		return usagef("probe", "", "got %d questions, want one of -F, -L and -V", asked).
			WithHint("write: ppscript probe -x FILE -F 'parse_*'")
	case !q.funcs && len(args) > 0 || len(args) > 1:
		return usagef("probe", args[len(args)-1], "not expected").WithHint("see: ppscript probe --help")
	}
	a.enterReader(false)
	r := &probe.Resolver{Types: kerneltype.Running()}
	defer r.Close()
	out := bufio.NewWriter(a.Text())
	err := q.print(out, r, append(args, "*")[0])
	if err != nil {
		return err
	}
	return out.Flush()
}

func (q *probeQuestion) print(w *bufio.Writer, r *probe.Resolver, pattern string) error {
	switch {
	case q.funcs:
		names, err := r.Functions(q.file, pattern)
		for _, name := range names {
			fmt.Fprintln(w, name)
		}
		return err
	case q.line != "":
		src, err := r.Source(q.file, q.line)
		if err != nil {
			return err
		}
		q.printSource(w, src)
		return nil
	}
	scopes, err := r.Variables(q.file, q.vars)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "Available variables at %s\n", q.vars)
	for _, s := range scopes {
		fmt.Fprintf(w, "        @<%s>\n", s.Place)
		if len(s.Variables) == 0 {
			fmt.Fprintln(w, "                (none)")
		}
		for _, v := range s.Variables {
			fmt.Fprintf(w, "                %s\t%s\n", v.Type, v.Name)
		}
	}
	return nil
}

// printSource shows source lines; those where a probe can be have a number, by which -L and probes name them.
func (q *probeQuestion) printSource(w *bufio.Writer, src *probe.Source) {
	files := listing.Sources{Dirs: q.sources}
	name := src.File
	if src.Zero > 0 {
		name = src.Name + "@" + src.File
	}
	fmt.Fprintf(w, "<%s:%d>\n", name, src.First-src.Zero)
	for line := src.First; line <= src.Last; line++ {
		number := ""
		if _, is := slices.BinarySearch(src.Code, line); is {
			number = fmt.Sprint(line - src.Zero)
		}
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%7s  %s", number, files.Line(src.File, line)), " "))
	}
}
