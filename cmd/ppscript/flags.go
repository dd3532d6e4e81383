package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/script/option"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"

	"github.com/spf13/pflag"
)

// This file declares options for pflag: the common ones and the script's.
// Values are kept as texts, in order. The owner of an option parses its texts,
// so that all errors have one form, and types of a script's options stay in the
// script.

// A flag is one option of the command line.
type flag struct {
	name, short string
	metavar     string // "" for options without a value
	help        string
	deflt       string // default as --help shows it
	group       string
	choices     []string
	kind        valueKind
	alone       alone
	helpPlace   helpPlace
	recorded    bool                 // the subcommand record also has the option
	own         bool                 // the script declares the option
	instead     string               // what to use, for an option that only other tools have
	bare        time.Duration        // the unit of a number without one, as declared; 0 is none
	read        func(*reader, *flag) // stores the texts of a given option

	// filters is set for --filter: the option of events to which its filters apply. places has, for
	// each text, the number of events given before it.
	filters *flag
	places  []int

	texts []string
}

// filterFlag is perf's --filter: a filter for the events of the option before it.
func filterFlag(events *flag) *flag {
	return &flag{name: "filter", metavar: "FILTER", filters: events,
		help: "as perf: a filter for the last event of the -e before it; the same as -e EVENT/FILTER/"}
}

// filter adds the filters that were given to their events.
func (fs *flags) filter() error {
	for _, f := range fs.list {
		if f.filters == nil {
			continue
		}
		for i, place := range f.places {
			if place == 0 {
				return usagef("option", "--filter", "no event stands before it").
					WithHint("write: -e sched:sched_switch --filter %s", strconv.Quote(f.texts[i]))
			}
			text, err := eventstring.WithFilter(f.filters.texts[place-1], f.texts[i], kernel.ParseCPUList)
			if err != nil {
				return err
			}
			f.filters.texts[place-1] = text
		}
		f.texts, f.places = nil, nil
	}
	return nil
}

// A valueKind says how an option's value is completed and checked.
type valueKind uint8

const (
	aText valueKind = iota
	anEvent
	aPath
)

// alone describes an option that can be written without a value.
type alone struct {
	value string                 // the value when none is written; "" if one must be written
	takes func(word string) bool // the next word can be the value, too
}

// helpPlace says which help pages show a common option.
type helpPlace uint8

const (
	inFull  helpPlace = iota // shown by --help-all
	briefly                  // also shown by --help
	never                    // not shown; parsed only for a message that it has no effect
)

var _ pflag.Value = (*flag)(nil)

func (f *flag) String() string { return "" }
func (f *flag) Type() string   { return f.metavar }
func (f *flag) Set(s string) error {
	if f.filters != nil {
		f.places = append(f.places, len(f.filters.texts))
	}
	f.texts = append(f.texts, s)
	return nil
}

// last returns the option's last text, which overrides the earlier ones.
func (f *flag) last() (string, bool) {
	if len(f.texts) == 0 {
		return "", false
	}
	return f.texts[len(f.texts)-1], true
}

// isValue reports that a word after an option with an optional value is its
// value.
func (f *flag) isValue(word string) bool {
	if f.alone.takes != nil {
		return f.alone.takes(word)
	}
	return slices.Contains(f.choices, word)
}

// flags holds the options that one command line may have.
type flags struct {
	list   []*flag
	set    *pflag.FlagSet
	common *common // set by the common options
	// perfprof says that the script is one of perf-prof's profilers, where -i 1000
	// means milliseconds.
	perfprof bool
}

// newFlags makes the options of a script (nil: none) and the common ones. A script may declare a common
// option again to change its default and help, and may use the letter of a common option for its own.
func newFlags(own *option.Set) *flags {
	fs := &flags{set: pflag.NewFlagSet("", pflag.ContinueOnError), common: &common{}}
	fs.set.SortFlags = false
	fs.set.SetInterspersed(false)
	fs.set.Usage = func() {}
	fs.set.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	common := commonOptions(fs.common)
	if own != nil {
		for i := range own.Options {
			if o := &own.Options[i]; !o.Positional {
				fs.list = append(fs.list, ownFlag(o, common))
			}
		}
	}
	i := slices.IndexFunc(fs.list, func(f *flag) bool { return f.kind == anEvent })
	if i >= 0 && fs.find("filter") == nil {
		fs.list = append(fs.list, filterFlag(fs.list[i]))
	}
	if own != nil {
		for _, a := range own.Answers {
			fs.list = append(fs.list, &flag{
				own: true, name: strings.ReplaceAll(a.Name, "_", "-"), short: a.Short,
				instead: a.Use, helpPlace: never,
			})
		}
	}
	mine := len(fs.list)
	for _, c := range common {
		taken := false
		for _, o := range fs.list[:mine] {
			taken = taken || o.name == c.name
			if c.short != "" && o.short == c.short {
				c.short = ""
			}
		}
		if own != nil && own.WholeCPUs && namesTasks[c.name] {
			c.helpPlace = never
		}
		if !taken {
			fs.list = append(fs.list, c)
		}
	}
	for _, f := range fs.list {
		p := fs.set.VarPF(f, f.name, f.short, f.help)
		if p.NoOptDefVal = f.alone.value; f.metavar == "" {
			p.NoOptDefVal = "true"
		}
	}
	return fs
}

// namesTasks are the options that say which tasks to observe.
var namesTasks = map[string]bool{"pids": true, "tids": true, "cgroups": true, "container": true,
	"pod": true, "unit": true, "inherit": true, "ptrace": true}

// ownFlag makes the flag for a script's option.
func ownFlag(o *option.Option, common []*flag) *flag {
	f := &flag{own: true, name: o.Flag(), short: o.Short, metavar: o.Placeholder(), help: o.Help,
		bare: time.Duration(o.Bare), deflt: o.DefaultText(),
		choices: o.Choices, alone: alone{o.Alone, o.Takes}}
	if o.Type == option.Events {
		f.kind = anEvent
	}
	if len(f.choices) == 0 {
		f.choices = o.Words
	}
	// "TIME (default unit ms)": the unit is for the help.
	if value, unit, ok := strings.Cut(f.metavar, " ("); ok && o.Metavar == "" {
		f.metavar, f.help = value, strings.TrimPrefix(f.help+" ("+unit, " ")
	}
	if o.Type == option.Flag {
		f.metavar = ""
	} else if f.metavar == "" {
		f.metavar = "VALUE"
	}
	f.help = strings.TrimSpace(f.help + " " + o.Requirement())
	for _, c := range common {
		if c.name != f.name {
			continue
		}
		f.group, f.read = c.group, c.read
		if f.short == "" {
			f.short = c.short
		}
		if f.help == "" {
			f.help = c.help
		}
		if o.Metavar == "" {
			f.metavar = c.metavar
		}
	}
	return f
}

// give copies the value of an option to the option that it also sets. For example, -I of
// perf stat sets --interval.
func (fs *flags) give(set *option.Set) {
	if set == nil {
		return
	}
	for i := range set.Options {
		o := &set.Options[i]
		if from, to := fs.find(o.Flag()), fs.find(o.Gives); from != nil && to != nil {
			to.texts, to.bare = append(to.texts, from.texts...), from.bare
		}
	}
}

// common reports that every script has the option; one may declare it once more.
func (f *flag) common() bool { return f.group != "" }

func (fs *flags) find(name string) *flag {
	for _, f := range fs.list {
		if f.name == name {
			return f
		}
	}
	return nil
}

// texts returns the values given for an option.
func (fs *flags) texts(name string) []string {
	if f := fs.find(name); f != nil {
		return f.texts
	}
	return nil
}

// parse reads options up to the first word that is no option, or to "--". It returns the words that are
// left, and whether "--" came before them.
func (fs *flags) parse(args []string) (rest []string, dash bool, err error) {
	for {
		given := map[*flag]int{}
		for _, f := range fs.list {
			given[f] = len(f.texts)
		}
		err := fs.set.Parse(args)
		if err := fs.answer(); err != nil {
			return nil, false, err
		}
		if err != nil {
			return nil, false, flagError(err, fs.set, "")
		}
		if err := fs.filter(); err != nil {
			return nil, false, err
		}
		rest, dash = fs.set.Args(), fs.set.ArgsLenAtDash() == 0
		if dash || len(rest) == 0 || len(rest) == len(args) {
			return rest, dash, nil
		}
		// --user-callchain dwarf: pflag accepts an optional value only after =.
		f := flagOf(fs, args[len(args)-len(rest)-1])
		if f == nil || f.alone.value == "" || len(f.texts) == given[f] || !f.isValue(rest[0]) {
			return rest, dash, nil
		}
		f.texts[len(f.texts)-1] = rest[0]
		args = rest[1:]
	}
}

// answer returns an error if an option is given that the script does not have, but
// another tool with the script's name does.
func (fs *flags) answer() error {
	for _, f := range fs.list {
		if f.instead == "" || len(f.texts) == 0 {
			continue
		}
		name := "--" + f.name
		if f.short != "" {
			name = "-" + f.short
		}
		return usagef("option", name, "known from the tool of this name, but not an option here").
			WithHint("%s", f.instead)
	}
	return nil
}

// flagError turns pflag's error about an option into one of ppscript's form. where is the subcommand,
// "" for a script.
func flagError(err error, set *pflag.FlagSet, where string) error {
	help := "list the options with --help"
	if where != "" {
		help = "list the options with: " + where + " --help"
	}
	var unknown *pflag.NotExistError
	var needs *pflag.ValueRequiredError
	var syntax *pflag.InvalidSyntaxError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if group := unknown.GetSpecifiedShortnames(); group != "" {
			e := usagef("option", "-"+name[:1], "unknown")
			if len(group) > 1 {
				e = usagef("option", "-"+name[:1], "unknown, in -%s", group)
			}
			return e.WithHint("%s", help)
		}
		return usagef("option", "--"+name, "unknown%s", nearestFlag(name, set)).WithHint("%s", help)
	case errors.As(err, &needs):
		f := needs.GetFlag()
		return usagef("option", "--"+f.Name, "needs a value").
			WithHint("write --%s %s", f.Name, f.Value.Type())
	case errors.As(err, &syntax):
		return usagef("option", strconv.Quote(syntax.GetSpecifiedFlag()), "not an option").
			WithHint("%s", help)
	case errors.As(err, &value):
		return usagef("option", "--"+value.GetFlag().Name, "got %q: %w", value.GetValue(), value.Unwrap()).
			WithHint("%s", help)
	}
	return &diag.Error{Op: "options", Cause: err, Class: diag.Usage, Hint: help}
}

func nearestFlag(name string, set *pflag.FlagSet) string {
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if n := diag.Nearest(name, names); n != "" {
		return fmt.Sprintf(" (did you mean --%s?)", n)
	}
	return ""
}

// asksHelp reports that --help or --help-all is given.
func (fs *flags) asksHelp() bool { return len(fs.texts("help"))+len(fs.texts("help-all")) > 0 }
