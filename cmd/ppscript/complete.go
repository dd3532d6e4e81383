package main

import (
	"os"
	"strings"

	"ppscript/runtime/script"
	"ppscript/runtime/script/option"
	"ppscript/runtime/source/tracefs"

	"github.com/spf13/cobra"
)

// completeScript completes the command line of a script: names, options and
// their values, events. Any error means no candidates.
func completeScript(a *app, args []string, word string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	fl := topFlags()
	name := scriptName(args)
	if name != "" {
		set, err := optionsOf(a, name)
		if err != nil {
			return nil, none
		}
		fl = newFlags(set)
	}
	if n := len(args); n > 0 {
		if args[n-1] == "--" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		if f := flagOf(fl, args[n-1]); f != nil && f.metavar != "" {
			return completeValue(f, word)
		}
	}
	if opt, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(opt, "--") {
		if f := flagOf(fl, opt); f != nil {
			list, d := completeValue(f, value)
			for i := range list {
				list[i] = opt + "=" + list[i]
			}
			return list, d
		}
	}
	if strings.HasPrefix(word, "-") {
		return completeFlags(fl, word), none
	}
	if name == "" {
		return startingWith(append(shipped(), "help"), display(word)), cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// optionsOf returns the options of a script by its name. A script that comes with ppscript is
// loaded. Other scripts are only parsed: pressing TAB must not run the code of a file.
func optionsOf(a *app, name string) (*option.Set, error) {
	file, err := find(name)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(file, "@stdlib//") {
		host, _, err := a.newHost()
		if err != nil {
			return nil, err
		}
		m, err := host.Load(file)
		if err != nil {
			return nil, err
		}
		return m.Options, nil
	}
	if strings.Contains(file, "//") {
		return nil, nil // completion does not fetch libraries
	}
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxCompleted {
		return nil, err
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return script.DeclaredOptions(file, string(src)), nil
}

// maxCompleted is the size in bytes up to which a script is parsed to complete its options.
const maxCompleted = 1 << 20

// scriptName returns the first word that is neither an option nor the value of
// one.
func scriptName(args []string) string {
	fl := topFlags()
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return ""
		}
		if !strings.HasPrefix(args[i], "-") {
			return args[i]
		}
		if f := flagOf(fl, args[i]); f != nil && f.metavar != "" {
			i++
		}
	}
	return ""
}

// flagOf returns the option at the end of word whose value is the next word.
func flagOf(fl *flags, word string) *flag {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return fl.find(strings.ReplaceAll(name, "_", "-"))
	}
	if len(word) < 2 || word[0] != '-' {
		return nil
	}
	for _, f := range fl.list {
		if f.short != "" && strings.HasSuffix(word, f.short) {
			return f
		}
	}
	return nil
}

func completeFlags(fl *flags, word string) []string {
	var out []string
	for _, f := range fl.list {
		if f.helpPlace == never {
			continue
		}
		if s := "--" + f.name; strings.HasPrefix(s, word) {
			out = append(out, s+"\t"+f.help)
		}
		if s := "-" + f.short; f.short != "" && strings.HasPrefix(s, word) {
			out = append(out, s+"\t"+f.help)
		}
	}
	return out
}

func completeValue(f *flag, word string) ([]string, cobra.ShellCompDirective) {
	switch {
	case f.kind == anEvent:
		return completeEvents(word)
	case len(f.choices) > 0:
		return startingWith(f.choices, word), cobra.ShellCompDirectiveNoFileComp
	case f.kind == aPath:
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// completeEvents completes the last event of a list: first the system, then the
// event.
func completeEvents(word string) ([]string, cobra.ShellCompDirective) {
	const more = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	fs := tracefs.FindFormats()
	i := strings.LastIndexByte(word, ',') + 1
	before, last := word[:i], word[i:]
	var names []string
	var err error
	if strings.Contains(last, ":") {
		names, err = fs.Events()
	} else {
		if names, err = fs.Systems(); err == nil {
			for i := range names {
				names[i] += ":"
			}
		}
	}
	if err != nil {
		return nil, more
	}
	out := startingWith(names, last)
	if len(out) == 0 {
		for _, n := range names {
			if strings.Contains(n, last) {
				out = append(out, n)
			}
		}
	}
	for i := range out {
		out[i] = before + out[i]
	}
	return out, more
}

// completeChoices completes the values of a subcommand's option.
func completeChoices(c *cobra.Command, option string, choices []string) {
	_ = c.RegisterFlagCompletionFunc(option,
		func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
			return startingWith(choices, word), cobra.ShellCompDirectiveNoFileComp
		})
}

func startingWith(words []string, prefix string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, prefix) {
			out = append(out, w)
		}
	}
	return out
}
