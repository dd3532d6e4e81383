package main

import (
	"path/filepath"
	"strings"
	"time"

	"ppscript/builtins/sources"
	"ppscript/cmd/ppscript/permit"
	"ppscript/runtime/plan"
	"ppscript/runtime/script"
	"ppscript/runtime/script/option"
	"ppscript/runtime/session"
	"ppscript/runtime/source/eventstring"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/unit"
	"ppscript/stdlib"
)

// This file reads the command line of a script:
//
//	[options] NAME|FILE [options] [arguments] [--] [command...]
//	[options] -c PROGRAM [options] [--] [command...]
//
// Options before and after the name belong to the script. The first word that is no option begins the
// command, as in perf-prof, but a script that declares arguments takes its arguments first. The word
// help explains the script, or the events of its -e.

// An invocation is a parsed command line of a script.
type invocation struct {
	name     string // as the user calls it
	host     *script.Host
	module   *script.Module
	program  string // the program of -c; then module is nil
	flags    *flags
	values   *option.Values
	common   *common
	workload []string

	asks question // if the script is not run

	arguments []string        // before the command
	typed     []string        // values of the script's options, from the user
	writes    []string        // values of common options that name files, from the script
	may       *permit.Permits // set when the run is configured

	outcome session.Outcome // set when it has run
}

// question says that the user asks about the script and does not run it: one of the members is set.
type question struct {
	version, help, noName, describe bool
	helpEvents                      []string

	word bool // "help" is one of the arguments
}

// topFlags are the options with a value that may come before the script's name, so that the value is
// not taken for the name. Other options with a value must follow the name.
func topFlags() *flags {
	own := &option.Set{Options: []option.Option{
		{Name: "command", Short: "c", Type: option.String, Help: "run PROGRAM, one line of a script", Metavar: "PROGRAM"},
		{Name: "event", Short: "e", Type: option.Events, Help: "events, with: help"},
	}}
	return newFlags(own)
}

// invoke parses args. When it returns, flags and arguments are checked, and nothing is open.
func (a *app) invoke(host *script.Host, args []string) (*invocation, error) {
	inv := &invocation{host: host, flags: topFlags()}
	rest, dash, err := inv.flags.parse(args)
	if err != nil {
		// The unknown option may be the script's, before its name.
		if i := firstScript(args); i > 0 {
			return inv, a.invokeScript(inv, args[:i], args[i], args[i+1:])
		}
		return nil, err
	}
	program, oneLine := inv.flags.find("command").last()
	switch {
	case len(inv.flags.texts("version")) > 0:
		inv.asks.version = true
		return inv, nil
	case oneLine && (a.vetting.signers != nil || a.vetting.gate != nil):
		return nil, unsigned("-c")
	case oneLine:
		inv.name, inv.program, inv.workload = "-c", program, rest
		inv.asks.help = inv.flags.asksHelp()
		if err := noCommand(rest, dash); err != nil {
			return nil, err
		}
		return inv, inv.finish(nil)
	case len(rest) == 0 || dash:
		inv.asks.noName = true
		inv.asks.help = inv.flags.asksHelp()
		return inv, nil
	case rest[0] == "help" && len(inv.flags.texts("event")) > 0:
		inv.asks.helpEvents = inv.flags.texts("event")
		return inv, nil
	}
	before := args[:len(args)-len(rest)]
	return inv, a.invokeScript(inv, before, rest[0], rest[1:])
}

// firstScript returns the index of the first word that names a script, -1 if
// none does.
func firstScript(args []string) int {
	for i, word := range args {
		if word == "--" {
			break
		}
		if file, err := find(word); err == nil && filepath.Ext(file) == ".star" {
			return i
		}
	}
	return -1
}

func (a *app) invokeScript(inv *invocation, before []string, name string, after []string) error {
	var err error
	inv.name = name
	if inv.module, err = a.load(inv.host, name); err != nil {
		return err
	}
	set := inv.module.Options
	inv.flags = newFlags(set)
	_, inv.flags.perfprof = stdlib.Find(strings.TrimSuffix(filepath.Base(name), ".star"))
	switch rest, _, err := inv.flags.parse(before); {
	case err != nil:
		return err
	case len(rest) > 0: // the name was an option's value
		return usagef("script", rest[0], "no such profiler, command or file").
			WithHint("list the profilers: ppscript list")
	}
	words, err := inv.words(after)
	if err != nil {
		return err
	}
	switch {
	case len(inv.flags.texts("version")) > 0:
		inv.asks.version = true
		return nil
	case inv.flags.asksHelp():
		inv.asks.help = true
		return nil
	case inv.asks.word:
		inv.asks.helpEvents = inv.eventTexts()
		inv.asks.help = len(inv.asks.helpEvents) == 0
		return nil
	}
	if g := a.vetting.gate; g != nil {
		if err := inv.openGate(g, words); err != nil {
			return err
		}
	}
	inv.flags.give(set)
	given := map[string][]string{}
	inv.typed, inv.arguments = words, words
	for _, f := range inv.flags.list {
		if _, own := set.Find(f.name); own && len(f.texts) > 0 {
			inv.typed = append(inv.typed, f.texts...)
			given[optionName(set, f.name)] = f.texts
		}
	}
	if len(inv.flags.texts("input")) > 0 {
		set.OfRecording(given)
	}
	// Event strings are parsed here already, so that an error points at the user's text, not at the
	// script.
	for _, text := range inv.eventTexts() {
		list, err := eventstring.Parse(text, kernel.ParseCPUList)
		if err == nil {
			err = sources.Check(inv.host, list)
		}
		if err != nil {
			return err
		}
	}
	inv.asks.describe = len(inv.flags.texts("describe")) > 0
	if inv.values, err = set.Values(given, words); err != nil {
		if inv.asks.describe && len(given)+len(words) == 0 {
			return nil // describe can show the options without values
		}
		return err
	}
	return inv.finish(given)
}

// finish reads the common options.
func (inv *invocation) finish(given map[string][]string) (err error) {
	if inv.module != nil && inv.module.Options != nil {
		// The script's value for a common option is the default.
		for i := range inv.module.Options.Options {
			o := &inv.module.Options.Options[i]
			f := inv.flags.find(o.Flag())
			if f == nil || !f.common() || len(f.texts) > 0 || o.DefaultText() == "" || !o.Starts(given) ||
				permit.Users(f.name) {
				continue
			}
			f.texts = []string{o.DefaultText()}
			if permit.Writes(f.name) {
				inv.writes = append(inv.writes, f.texts...)
			}
		}
	}
	if inv.common, err = readCommon(inv.flags, inv.workload); err != nil {
		return err
	}
	inv.host.Session = script.Session{
		ByThread:  inv.common.target.ByThread(),
		Recorded:  inv.common.input != "",
		Verbosity: inv.common.options.Verbose,
		Services:  inv.host.Session.Services,
	}
	if inv.module != nil && inv.module.Options != nil && inv.module.Options.WholeCPUs {
		return inv.common.target.CheckWhole(inv.name)
	}
	return nil
}

// words parses options and takes the arguments that the script declares; the words after them are the
// command.
func (inv *invocation) words(args []string) (taken []string, err error) {
	left := 0 // number of arguments that are still expected
	if set := inv.module.Options; set != nil {
		for i := range set.Options {
			switch o := &set.Options[i]; {
			case !o.Positional:
			case o.List:
				left = len(args)
			default:
				left++
			}
		}
	}
	for {
		for left > 0 && len(args) > 0 && inv.negative(args[0]) {
			taken, args = append(taken, args[0]), args[1:]
			left--
		}
		rest, dash, err := inv.flags.parse(args)
		if err != nil {
			return nil, err
		}
		if !dash && len(rest) > 0 && rest[0] == "help" {
			inv.asks.word, args = true, rest[1:]
			continue
		}
		if !dash && len(rest) > 0 && left == 0 && inv.number(rest[0]) {
			args = rest[1:]
			continue
		}
		if dash || len(rest) == 0 || left == 0 {
			inv.workload = rest
			return taken, noCommand(rest, dash)
		}
		taken = append(taken, rest[0])
		left--
		args = rest[1:]
	}
}

// number gives a number that stands in place of a command to the next option that takes
// such numbers. It reports whether there is one.
func (inv *invocation) number(word string) bool {
	if _, err := unit.ParseDuration(word, int64(time.Second)); err != nil || inv.module.Options == nil {
		return false
	}
	for i := range inv.module.Options.Options {
		o := &inv.module.Options.Options[i]
		if f := inv.flags.find(o.Flag()); o.Argument && f != nil && len(f.texts) == 0 {
			f.texts = []string{word}
			return true
		}
	}
	return false
}

// noCommand is an error if nothing follows "--". This happens with an empty
// variable of a shell; without the error, the whole machine would be observed.
func noCommand(rest []string, dash bool) error {
	if dash && len(rest) == 0 {
		return usagef("start", "command", "none behind --").
			WithHint("give a command after --, or leave out the --")
	}
	return nil
}

// negative reports that a word is a negative number, not an option.
func (inv *invocation) negative(word string) bool {
	if len(word) < 2 || word[0] != '-' || word[1] < '0' || word[1] > '9' {
		return false
	}
	for _, f := range inv.flags.list {
		if f.short == word[1:2] {
			return false
		}
	}
	return true
}

// eventTexts returns the values of the script's options of type events.
func (inv *invocation) eventTexts() []string {
	var all []string
	for _, f := range inv.flags.list {
		if f.kind == anEvent {
			all = append(all, f.texts...)
		}
	}
	return all
}

// optionName returns the name of an option in the script.
func optionName(set *option.Set, flag string) string {
	if o, ok := set.Find(flag); ok {
		return o.Name
	}
	return flag
}

// reports runs the script's main, or the program of -c, which open nothing.
func (inv *invocation) reports() ([]plan.Report, error) {
	if inv.module == nil {
		v, err := inv.host.NewREPL().ExecNamed("<-c>", inv.program)
		if err != nil {
			return nil, err
		}
		return asReports(v, true)
	}
	v, err := inv.host.Run(inv.module, inv.values)
	if err != nil {
		return nil, err
	}
	return asReports(v, false)
}
