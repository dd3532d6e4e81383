// Package help shows help in the terminal: about events and scripts, and the pages of
// docs/.
package help

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/runtime/plan"
	"ppscript/runtime/script"
	"ppscript/runtime/script/option"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
	"ppscript/scripts"
	"ppscript/stdlib"
)

// This file explains events: their fields, the kernel structures that fields point to, the task in
// whose context they fire, and the command lines that can use them.

// A Show explains events, and lists the scripts that can use them.
type Show struct {
	Console *console.Console
	// Host makes the script host that loads the scripts in Users.
	Host func() (*script.Host, error)
	// Users are the names of the scripts that may be able to use the events.
	Users []string
	// Tasks are the options that select tasks. They are left out of the command lines of scripts
	// that observe whole CPUs.
	Tasks map[string]bool
	// Brief leaves out the print format and the command lines.
	Brief bool
}

// Events explains the events that texts name. It writes command lines that can use them, with
// a dot in place of each value that the user fills in, then the fields of each event and the
// task in whose context it fires.
func (s *Show) Events(texts []string) error {
	var sources []*plan.Source
	for _, text := range texts {
		list, err := eventstring.Parse(text, kernel.ParseCPUList)
		if err != nil {
			return err
		}
		sources = append(sources, list...)
	}
	tfs := known(s.Console)
	var names []string
	var functions strings.Builder
	types := kerneltype.Running()
	for _, src := range sources {
		if p := src.Probe; p != nil && (p.Kind == probe.Kprobe || p.Kind == probe.Kretprobe) {
			if explainFunction(s.Console, &functions, types, p) {
				continue
			}
		}
		if src.Kind != eventspec.Tracepoint {
			return diag.Errorf(diag.Usage, "help", src.FullName(),
				"not a tracepoint: it has no fields of its own").
				WithHint("list the tracepoints: ppscript list events")
		}
		found, err := tfs.Match(src.FullName())
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	host, err := s.Host()
	if err != nil {
		return err
	}
	var w strings.Builder
	w.WriteString(functions.String())
	if len(names) == 0 {
		return s.Console.Page(w.String())
	}
	l := s.Console.Layout(true)
	for _, name := range slices.Compact(names) {
		if err := s.explainEvent(&w, l, tfs, types, name); err != nil {
			return err
		}
	}
	if s.Brief {
		var users []string
		for _, name := range s.Users {
			if s.usageLine(host, name, names) != "" {
				users = append(users, strings.ReplaceAll(name, "_", "-"))
			}
		}
		console.TwoColumns(&w, "    taken by", strings.Join(users, ", "), 20, l.Width)
		more := "ppscript help event " + strings.Join(texts, ",") + " --full"
		console.TwoColumns(&w, "    more", more, 20, l.Width)
		return s.Console.Page(w.String())
	}
	fmt.Fprintf(&w, "%s\n\n", s.Console.Title("Who can use it, with a dot for what you fill in"))
	for _, name := range s.Users {
		if line := s.usageLine(host, name, names); line != "" {
			w.WriteString(l.Text("    " + line))
		}
	}
	return s.Console.Page(w.String())
}

// explainEvent writes the fields of an event as a table, its print format, and
// the task in whose context it fires.
func (s *Show) explainEvent(w *strings.Builder, l console.Layout, tfs *tracefs.FS,
	types *kerneltype.Types, name string) error {
	con := s.Console
	system, event, _ := strings.Cut(name, ":")
	schema, err := tfs.Schema(system, event)
	if err != nil {
		return err
	}
	format, err := tfs.Format(system, event)
	if err != nil {
		return err
	}
	rows := [][4]string{{"field", "type", "bytes", "offset"}}
	for _, f := range schema.Fields {
		if s.Brief && strings.HasPrefix(f.Name, "common_") {
			continue // common fields, which every event has
		}
		for _, m := range formatField.FindAllStringSubmatch(string(format), -1) {
			if fieldName(m[1]) == f.Name {
				rows = append(rows, [4]string{f.Name, f.Type, m[3], m[2]})
				break
			}
		}
	}
	var wide [2]int
	for _, r := range rows {
		wide[0], wide[1] = max(wide[0], len(r[0])), max(wide[1], len(r[1]))
	}
	fmt.Fprintf(w, "%s\n\n", con.Title(name))
	for _, r := range rows {
		fmt.Fprintf(w, "    %-*s  %-*s  %5s  %6s\n", wide[0], r[0], wide[1], r[1], r[2], r[3])
	}
	explainPointers(w, l, types, schema)
	explainArguments(w, l, types, event)
	if _, text, ok := strings.Cut(string(format), "print fmt: "); ok && !s.Brief {
		w.WriteString("\n")
		console.TwoColumns(w, "    printed as", strings.TrimSpace(text), 20, l.Width)
	}
	if c := firesIn(system, event); c != "" {
		w.WriteString("\n")
		console.TwoColumns(w, "    fires in", "the context of "+c, 20, l.Width)
	}
	w.WriteString("\n")
	return nil
}

// formatField matches a field in a format file of tracefs: declaration, offset,
// size.
var formatField = regexp.MustCompile(`field:([^;]+);\s+offset:(\d+);\s+size:(\d+);`)

// fieldName returns the name in a C declaration: the last word, without array
// brackets.
func fieldName(declaration string) string {
	name, _, _ := strings.Cut(declaration, "[")
	if i := strings.LastIndexAny(strings.TrimSpace(name), " *"); i >= 0 {
		name = strings.TrimSpace(name)[i+1:]
	}
	return name
}

// usageLine returns the command line by which a profiler uses the events; "" if
// it cannot. A profiler with an option for events can use any; another must
// name one of them in its text.
func (s *Show) usageLine(host *script.Host, name string, events []string) string {
	file, ok := stdlib.Find(name)
	if !ok {
		if file, ok = scripts.Find(name); !ok {
			return ""
		}
		file = "scripts/" + file
	}
	src, err := fs.ReadFile(stdlib.FS(), file)
	if err != nil {
		return ""
	}
	m, err := host.Load("@stdlib//" + file)
	if err != nil || m.Main == nil {
		return ""
	}
	takes, note := false, ""
	var words []string
	own := map[string]bool{}
	if m.Options != nil {
		for i := range m.Options.Options {
			o := &m.Options.Options[i]
			own[o.Name] = true
			if o.Type == option.Events && !takes {
				takes = true
				if any := o.DefaultText(); any != "" &&
					!slices.ContainsFunc(events, func(e string) bool { return strings.Contains(any, e) }) {
					return "" // its option is meant for other events
				}
				what := attributes(string(src))
				word := fmt.Sprintf("%s \"%s/./[%s/]\"", dashed(o), strings.Join(events, ","),
					strings.Join(what, "/"))
				if len(word) > longestWord {
					word = fmt.Sprintf("%s \"%s/./[ATTR/...]\"", dashed(o), strings.Join(events, ","))
					note = "   ATTR is one of: " + strings.Join(what, ", ")
				}
				words = append([]string{word}, words...)
				continue
			}
			words = append(words, template(o))
		}
	}
	if !takes {
		text := withLibraries(file, string(src))
		if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(text, `"`+e+`"`) }) {
			return ""
		}
	}
	for _, c := range []struct{ name, text string }{
		{"cpus", "[-C .]"}, {"pids", "[-p .]"}, {"interval", "[-i .]"}, {"mmap_pages", "[-m .]"},
	} {
		if whole := m.Options != nil && m.Options.WholeCPUs; !own[c.name] && !(whole && s.Tasks[c.name]) {
			words = append(words, c.text)
		}
	}
	return "ppscript " + strings.ReplaceAll(name, "_", "-") + " " + strings.Join(words, " ") + note
}

// longestWord is the longest quoted word, which cannot be broken, that fits into an indented line
// of 80 columns with a backslash.
const longestWord = 80 - 8 - 2

var loaded = regexp.MustCompile(`load\("(?:@stdlib//([^"]+)|(\.[^"]+))"`)

// withLibraries returns the text of a script and of the files of stdlib/ that
// it loads, since these may name its events.
func withLibraries(file, src string) string {
	for _, m := range loaded.FindAllStringSubmatch(src, -1) {
		name := m[1]
		if m[2] != "" {
			name = path.Join(path.Dir(file), m[2])
		}
		if lib, err := fs.ReadFile(stdlib.FS(), name); err == nil {
			src += string(lib)
		}
	}
	return src
}

func dashed(o *option.Option) string {
	if o.Short != "" {
		return "-" + o.Short
	}
	return "--" + o.Flag()
}

// template returns an option for a command line, with a dot for its value, in
// brackets if it is not required.
func template(o *option.Option) string {
	s := dashed(o)
	switch {
	case o.Positional:
		s = o.Placeholder()
	case o.Type != option.Flag:
		s += " ."
	}
	if o.Required {
		return s
	}
	return "[" + s + "]"
}

// attrRead matches a call, in a script's text, that reads an attribute of an
// event.
var attrRead = regexp.MustCompile(`attr(?:ibute)?\((?:\w+, )?"([a-z-]+)"`)

// joins matches a call of join or nested in a script's text.
var joins = regexp.MustCompile(`[^.\w](?:join|nested)\(`)

// attributes returns the attributes of events that a script uses: alias, which
// works for all events, the attributes that the script reads, and the
// attributes of joins.
func attributes(src string) []string {
	names := []string{"alias"}
	for _, m := range attrRead.FindAllStringSubmatch(src, -1) {
		names = append(names, m[1])
	}
	if joins.MatchString(src) {
		names = append(names, "key", "role", "untraced", "trigger")
	}
	var known []string
	seen := map[string]bool{}
	for _, name := range names {
		if value, ok := eventstring.TakesValue(name); ok && !seen[name] {
			seen[name] = true
			if value {
				name += "=."
			}
			known = append(known, name)
		}
	}
	return known
}

// firesIn returns which task is current when an event fires, for events for
// which this is surprising; "" for others. Option -p selects events by the
// current task.
func firesIn(system, event string) string {
	interrupted := "whatever task was interrupted: observe CPUs, not tasks"
	switch system + ":" + event {
	case "sched:sched_wakeup", "sched:sched_waking":
		return "the task that wakes, not the one that is woken: with -p, only wakeups that the process does are seen"
	case "sched:sched_wakeup_new", "sched:sched_process_fork", "task:task_newtask":
		return "the parent"
	case "sched:sched_switch":
		return "the task that leaves the CPU (prev): with -p, a process is seen leaving, not coming back"
	case "sched:sched_migrate_task", "sched:sched_process_free", "sched:sched_stat_runtime":
		return "any task: observe CPUs, not tasks"
	case "block:block_rq_complete":
		return interrupted
	}
	switch system {
	case "irq", "irq_vectors", "timer", "hrtimer":
		return interrupted
	case "raw_syscalls", "syscalls":
		return "the task that calls"
	case "kvm":
		return "the vCPU's thread, for exits and entries"
	}
	return ""
}
