package option

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// An Answer is an option of the tool that has the script's name, and no option of the script. The
// command line knows it, and answers it with an error that says what to use.
type Answer struct {
	Name  string // as in the script: max_args; one letter if the tool has no longer name
	Short string // one letter, or ""
	Use   string // what to use, an imperative sentence
}

// A Set is the options that options(...) declares.
type Set struct {
	Options []Option
	Answers []Answer
	// Shared is the number of options at the front that came from other sets: the
	// options that all scripts of a kind have.
	Shared int
	// WholeCPUs says that the results of the script are about whole CPUs, so
	// that it cannot be run for some tasks only.
	WholeCPUs bool
}

var _ starlark.HasAttrs = (*Set)(nil)

func (s *Set) String() string        { return fmt.Sprintf("<options: %d declared>", len(s.Options)) }
func (s *Set) Type() string          { return "options" }
func (s *Set) Freeze()               {} // does not change once made
func (s *Set) Truth() starlark.Bool  { return len(s.Options) > 0 }
func (s *Set) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: options") }
func (s *Set) AttrNames() []string   { return nil }

// Attr returns an error that explains the usual mistake: values are in the
// argument of main.
func (s *Set) Attr(name string) (starlark.Value, error) {
	return nil, diag.Errorf(diag.Run, "options", name, "a declaration has no values").
		WithHint("take the value from main's parameter: def main(o): ... o.%s", name)
}

// Find returns the option with a name, in either spelling, or with a short
// letter.
func (s *Set) Find(name string) (*Option, bool) {
	if s == nil {
		return nil, false
	}
	for i := range s.Options {
		o := &s.Options[i]
		if name == o.Name || name == o.Flag() || name != "" && name == o.Short {
			return o, true
		}
	}
	return nil, false
}

// Join rewrites --name WORD to --name=WORD if the option's value may be left out
// and WORD is its value (see Takes). The words must not contain a command.
func (s *Set) Join(words []string) []string {
	var joined []string
	for i := 0; i < len(words); i++ {
		name, long := strings.CutPrefix(words[i], "--")
		if o, ok := s.Find(strings.ReplaceAll(name, "_", "-")); long && ok && i+1 < len(words) &&
			o.Takes(words[i+1]) {
			joined = append(joined, words[i]+"="+words[i+1])
			i++
			continue
		}
		joined = append(joined, words[i])
	}
	return joined
}

// Values makes the argument of main. given has the texts of each option on the
// command line, by name, in order; args has the positional arguments. A nil Set
// accepts nothing. Errors are *diag.Error of class Usage.
func (s *Set) Values(given map[string][]string, args []string) (*Values, error) {
	vals := &Values{values: starlark.StringDict{}, onCommandLine: map[string]bool{}}
	if s != nil {
		for i := range s.Options {
			if o := &s.Options[i]; o.Starts(given) {
				vals.values[o.Name] = o.start()
			} else {
				vals.values[o.Name] = starlark.None
			}
		}
	}
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		o, ok := s.Find(name)
		if !ok || o.Positional {
			return nil, s.unknown(name)
		}
		if err := vals.set(o, given[name]); err != nil {
			return nil, err
		}
	}
	if err := s.positional(vals, args); err != nil {
		return nil, err
	}
	if s != nil {
		for i := range s.Options {
			if o := &s.Options[i]; o.Required && !vals.onCommandLine[o.Name] {
				return nil, diag.Errorf(diag.Usage, o.sort(), o.Label(), "missing").
					WithHint("%s", required(o))
			}
		}
	}
	return vals, nil
}

// OfRecording adds the texts Recorded of options that are not in given, for events from a
// recording.
func (s *Set) OfRecording(given map[string][]string) {
	if s == nil {
		return
	}
	for i := range s.Options {
		if o := &s.Options[i]; o.Recorded != "" && len(given[o.Name]) == 0 {
			given[o.Name] = []string{o.Recorded}
		}
	}
}

// Starts reports that the default of an option is used together with the given options,
// see Along.
func (o *Option) Starts(given map[string][]string) bool {
	return o.Along == "" || len(given[o.Along]) > 0
}

// start returns the value of an option that is not given.
func (o *Option) start() starlark.Value {
	switch {
	case o.Default != nil && o.Default != starlark.None:
		return o.Default
	case o.Type == Flag && !o.List:
		return starlark.False
	case o.List:
		return starlark.Tuple(nil)
	}
	return starlark.None
}

func required(o *Option) string {
	if o.Positional {
		return fmt.Sprintf("give it after the options: %s", o.Placeholder())
	}
	return fmt.Sprintf("add --%s %s", o.Flag(), o.Placeholder())
}

func (s *Set) unknown(name string) error {
	var names []string
	if s != nil {
		for i := range s.Options {
			if !s.Options[i].Positional {
				names = append(names, s.Options[i].Flag())
			}
		}
	}
	near := ""
	if n := diag.Nearest(name, names); n != "" {
		near = fmt.Sprintf(" (did you mean --%s?)", n)
	}
	return diag.Errorf(diag.Usage, "option", "--"+name, "unknown%s", near).
		WithHint("list the options of the script with --help")
}

func (s *Set) positional(vals *Values, args []string) error {
	if s != nil {
		for i := range s.Options {
			o := &s.Options[i]
			if !o.Positional {
				continue
			}
			n := min(len(args), 1)
			if o.List {
				n = len(args)
			}
			if n > 0 {
				if err := vals.set(o, args[:n]); err != nil {
					return err
				}
			}
			args = args[n:]
		}
	}
	if len(args) > 0 {
		return diag.Errorf(diag.Usage, "argument", fmt.Sprintf("%q", args[0]), "not expected").
			WithHint("list what the script takes with --help; a command to run goes after --")
	}
	return nil
}

// Values is the argument o of main(o).
type Values struct {
	values        starlark.StringDict
	onCommandLine map[string]bool
}

var _ starlark.HasAttrs = (*Values)(nil)

func (v *Values) set(o *Option, texts []string) error {
	vals := make(starlark.Tuple, 0, len(texts))
	for _, text := range texts {
		m, err := o.Parse(text)
		if err != nil {
			return err
		}
		if t, ok := m.(starlark.Tuple); ok && o.List {
			vals = append(vals, t...)
		} else {
			vals = append(vals, m)
		}
	}
	v.onCommandLine[o.Name] = true
	switch {
	case o.List:
		v.values[o.Name] = vals
	case len(vals) > 0:
		v.values[o.Name] = vals[len(vals)-1] // the last one counts, as is usual
	}
	return nil
}

// Value returns an option's value by its name in the script.
func (v *Values) Value(name string) (starlark.Value, bool) {
	x, ok := v.values[name]
	return x, ok
}

// IsSet reports that the option was on the command line.
func (v *Values) IsSet(name string) bool { return v.onCommandLine[name] }

func (v *Values) String() string        { return "<options " + v.values.String() + ">" }
func (v *Values) Type() string          { return "option values" }
func (v *Values) Freeze()               { v.values.Freeze() }
func (v *Values) Truth() starlark.Bool  { return len(v.values) > 0 }
func (v *Values) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: option values") }
func (v *Values) AttrNames() []string   { return v.values.Keys() }

func (v *Values) Attr(name string) (starlark.Value, error) {
	if x, ok := v.values[name]; ok {
		return x, nil
	}
	return nil, diag.Errorf(diag.Run, "option", name, "not declared%s", diag.DidYouMean(name, v.AttrNames())).
		WithHint("declare it: opts = options(%s = opt.string(...))", name)
}

// Usage shows the positional arguments of a script for a usage line: " FILE
// [PID...]".
func (s *Set) Usage() string {
	if s == nil {
		return ""
	}
	text := ""
	for i := range s.Options {
		o := &s.Options[i]
		if !o.Positional {
			continue
		}
		word := o.Placeholder()
		if o.List {
			word += "..."
		}
		if !o.Required {
			word = "[" + word + "]"
		}
		text += " " + word
	}
	return text
}
