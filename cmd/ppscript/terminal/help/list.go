package help

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
)

// known finds the formats of tracepoints. If they are from another kernel, it prints a
// note.
func known(con *console.Console) *tracefs.FS {
	fs := tracefs.FindFormats()
	if instead := fs.Instead(); instead != "" {
		con.Say(instead)
	}
	return fs
}

// classes maps the words of perf list for kinds of events to their system in ppscript.
var classes = map[string]string{
	"hw": "hardware", "hardware": "hardware", "sw": "software", "software": "software",
	"cache": "cache", "hwcache": "cache", "tool": "tool", "pmu": "pmu", "raw": "raw", "rawpmu": "raw",
	"tracepoint": "tracepoint",
}

// A listed is an event in a list: name, system, and a description if there is
// one.
type listed struct{ name, system, about string }

// named lists the named events that are not tracepoints.
func named() (list []listed) {
	for _, system := range []string{"software", "hardware", "cache"} {
		for _, e := range perf.NamedEvents(system) {
			about := e.About
			if len(e.Also) > 0 {
				about += "; also " + strings.Join(e.Also, ", ")
			}
			list = append(list, listed{e.Name, system, about})
		}
	}
	for i, name := range eventspec.ToolNames {
		list = append(list, listed{name, "tool", []string{"how long the command took",
			"its time in user code", "its time in the kernel"}[i] + ", for stat"})
	}
	for _, name := range kernel.PMUEvents(kernel.Roots{}) {
		list = append(list, listed{name, "pmu", "an event of this PMU, by sysfs"})
	}
	return list
}

// raw lists the notations for events without a name.
var raw = []listed{
	{"rNNN", "raw", "an event of the CPU by its number, in hex: r01c2"},
	{"DEVICE/TERM=VALUE,.../", "raw", "an event of a PMU, in the words of its format: cpu/event=0x3c,umask=1/"},
	{"mem:ADDR[/LEN][:ACCESS]", "raw", "a breakpoint: mem:0x1000/8:w"},
}

// countless reports that this machine offers no hardware counters.
func countless() bool {
	pmus, err := kernel.ReadPMUs(kernel.Roots{})
	return err == nil && !kernel.HasCPU(pmus)
}

// ofCPU reports that an event is a hardware counter of the CPU.
func (e listed) ofCPU() bool { return e.system == "hardware" || e.system == "cache" }

// find selects events by text: a class, a part of a name, or a pattern.
func find(fs *tracefs.FS, text string) ([]listed, error) {
	var all []listed
	names, err := fs.Events()
	others := named()
	class := classes[strings.TrimSuffix(text, ":")]
	switch {
	case class == "raw":
		return raw, nil
	case class != "" && class != "tracepoint":
		return slices.DeleteFunc(others, func(e listed) bool { return e.system != class }), nil
	case err != nil:
		return nil, err
	}
	for _, name := range names {
		system, _, _ := strings.Cut(name, ":")
		all = append(all, listed{name: name, system: system})
	}
	if class == "tracepoint" {
		return all, nil
	}
	pattern := strings.ContainsAny(text, "*?[")
	return slices.DeleteFunc(append(all, others...), func(e listed) bool {
		if text == "" && e.ofCPU() && countless() {
			return true
		}
		_, short, _ := strings.Cut(e.name, ":")
		if pattern {
			return !glob.Match(text, e.name) && (e.about == "" || !glob.Match(text, short))
		}
		return !strings.Contains(e.name, text)
	}), nil
}

// List lists the events of a class of perf list (hw, cache, ...), or whose name contains text or
// matches it as a pattern. only says that the user asked for events only; after says that other
// lines were printed before.
func List(con *console.Console, text string, only, after bool) error {
	events, err := find(known(con), text)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		all, _ := find(known(con), "")
		var names []string
		for _, e := range all {
			names = append(names, e.name)
		}
		return diag.Errorf(diag.Usage, "list", text, "no profiler and no event is called so%s",
			diag.DidYouMean(text, names)).
			WithHint("list all events: ppscript list events")
	}
	if text == "" && !only && console.IsTerminal(con.Stdout) {
		return listSystems(con, events)
	}
	if slices.ContainsFunc(events, listed.ofCPU) && countless() {
		con.Say("the CPU has no counters here: hardware and cache events do not open")
	}
	found := lines(events, text != "" || console.IsTerminal(con.Stdout))
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

// lines returns a line for each event: its name, and its description if abouts is set.
func lines(events []listed, abouts bool) (out []string) {
	width := 0
	for _, e := range events {
		if e.about != "" {
			width = max(width, len(e.name))
		}
	}
	for _, e := range events {
		if e.about == "" || !abouts {
			out = append(out, e.name)
			continue
		}
		out = append(out, fmt.Sprintf("%-*s  %s", width, e.name, e.about))
	}
	return out
}

// listSystems prints the number of events of each system, in as many columns as
// fit.
func listSystems(con *console.Console, events []listed) error {
	var systems []string
	count := map[string]int{}
	wide := 0
	for _, e := range events {
		if count[e.system]++; count[e.system] == 1 {
			systems = append(systems, e.system)
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
		len(events), len(systems))
	for row := range rows {
		line := ""
		for i := row; i < len(cells); i += rows {
			line += fmt.Sprintf("%-*s", wide+2, cells[i])
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	return w.Flush()
}
