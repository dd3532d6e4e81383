package eventhelp

import (
	"bufio"
	"fmt"
	"strings"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/text/diag"
)

// known finds the formats of tracepoints, and says if they are those of another kernel.
func known(con *console.Console) *tracefs.FS {
	fs := tracefs.Known()
	if instead := fs.Instead(); instead != "" {
		con.Say(instead)
	}
	return fs
}

// List lists the events whose name contains text, or fits it as a pattern;
// only says that nothing but events is asked for, after that other lines came
// before.
func List(con *console.Console, text string, only, after bool) error {
	fs := known(con)
	names, err := fs.Events()
	if err != nil {
		return err
	}
	for _, name := range perf.SoftwareNames() {
		names = append(names, "software:"+name)
	}
	found := names
	switch glob := strings.ContainsAny(text, "*?["); {
	case glob && strings.HasPrefix(text, "software:"):
		return diag.Errorf(diag.Usage, "list", text, "patterns are for tracepoints").
			WithHint("list the software events: ppscript list software:")
	case glob:
		if found, err = fs.Match(text); err != nil {
			return err
		}
	case text != "":
		found = nil
		for _, name := range names {
			if strings.Contains(name, text) {
				found = append(found, name)
			}
		}
	}
	if len(found) == 0 {
		return diag.Errorf(diag.Usage, "list", text, "no profiler and no event is called so%s",
			diag.DidYouMean(text, names)).
			WithHint("list all events: ppscript list events")
	}
	if text == "" && !only && console.IsTerminal(con.Stdout) {
		return listSystems(con, found)
	}
	if console.IsTerminal(con.Stdout) && !after {
		return con.Page(strings.Join(found, "\n") + "\n")
	}
	w := bufio.NewWriter(con.Stdout)
	if after && console.IsTerminal(con.Stdout) {
		w.WriteByte('\n')
	}
	for _, name := range found {
		w.WriteString(name + "\n")
	}
	return w.Flush()
}

// listSystems tells how many events each system has, in as many columns as fit.
func listSystems(con *console.Console, names []string) error {
	var systems []string
	count := map[string]int{}
	wide := 0
	for _, name := range names {
		system, _, _ := strings.Cut(name, ":")
		if count[system]++; count[system] == 1 {
			systems = append(systems, system)
		}
	}
	var cells []string
	for _, s := range systems {
		cells = append(cells, fmt.Sprintf("%s: %d", s, count[s]))
		wide = max(wide, len(cells[len(cells)-1]))
	}
	width := console.TerminalWidth(con.Stdout)
	columns := max(1, (width+2)/(wide+2))
	rows := (len(cells) + columns - 1) / columns
	w := bufio.NewWriter(con.Stdout)
	fmt.Fprintf(w, "\nEvents, %d in %d systems; ppscript list sched: shows those of sched\n\n",
		len(names), len(systems))
	for row := range rows {
		line := ""
		for i := row; i < len(cells); i += rows {
			line += fmt.Sprintf("%-*s", wide+2, cells[i])
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	return w.Flush()
}
