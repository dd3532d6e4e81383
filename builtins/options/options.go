// Package options declares the builtins by which scripts declare their options:
// options(...) and opt.*. A declaration becomes data (option.Option), from
// which the command line makes flags and --help.
package options

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/script/option"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

// Builtins declares the builtins.
func Builtins() []*b.Builtin {
	list := []*b.Builtin{declare(), wholeCPUs(), instead()}
	for _, k := range kinds {
		list = append(list, k.builtin())
	}
	return list
}

const source = "computed in ppscript; any kernel; no privilege"

// declare declares options(...).
func declare() *b.Builtin {
	return &b.Builtin{
		Name: "options", Group: b.Options,
		Summary: "Declares the options of a script, which main receives as attributes.",
		Params: []b.Param{
			{Name: "base", Type: b.Is("options"), Rest: "*", Doc: "declarations to include, of a library for example"},
			{Name: "name", Type: b.Is("option"), Rest: "**", Doc: "one option each, made by opt.*"},
		},
		Returns: "options",
		Result:  "a declaration; its values are in the parameter of main",
		Errors:  "a name or letter is used twice; a positional list is not the last",
		Source:  source, Cost: "none for events",
		Examples: []b.Example{{
			Code:   `options(than = opt.duration(None, help = "only longer ones"), perins = opt.flag())`,
			Output: "<options: 2 declared>",
		}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			set := &option.Set{}
			for _, v := range c.Rest {
				base := v.(*option.Set)
				set.Options = append(set.Options, base.Options...)
				set.Answers = append(set.Answers, base.Answers...)
				set.Shared = len(set.Options)
				set.WholeCPUs = set.WholeCPUs || base.WholeCPUs
			}
			for _, kv := range c.KW {
				d := kv[1].(*declaration)
				o := d.decl
				o.Name = string(kv[0].(starlark.String))
				if d.use != "" {
					set.Answers = append(set.Answers, option.Answer{
						Name: o.Name, Short: cmp.Or(o.Short, letterOf(o.Name)), Use: d.use,
					})
					continue
				}
				if i := find(set.Options, o.Name); i >= 0 {
					set.Options[i] = o // a script's own option replaces the library's
					continue
				}
				set.Options = append(set.Options, o)
			}
			if err := consistent(set.Options); err != nil {
				return nil, err
			}
			set.Answers = unanswered(set)
			return set, nil
		},
	}
}

// wholeCPUs declares whole_cpus().
func wholeCPUs() *b.Builtin {
	return &b.Builtin{
		Name:    "whole_cpus",
		Group:   b.Options,
		Summary: "A declaration that the script is about CPUs, not about the tasks on them.",
		Returns: "options",
		Result:  "what options(...) includes: -p, -t, --cgroups and a command without --system are then errors, with a hint",
		Errors:  "none",
		Source:  source,
		Cost:    "none",
		Examples: []b.Example{
			{Code: `options(whole_cpus(), than = opt.duration(None))`, Output: "<options: 1 declared>"},
		},
		Impl: func(*b.Call) (starlark.Value, error) { return &option.Set{WholeCPUs: true}, nil },
	}
}

// instead declares opt.instead.
func instead() *b.Builtin {
	return &b.Builtin{
		Name:    "opt.instead",
		Group:   b.Options,
		Summary: "An option of another tool with the script's name, which the script does not have.",
		Params: []b.Param{
			{Name: "use", Type: b.String, Required: true, Doc: "what to use: the hint of the error"},
			{Name: "short", Type: b.String, Default: starlark.String(""), Named: true,
				Doc: "one-letter name; an option whose name is a letter has that"},
		},
		Returns: "option",
		Result: "none in main: given on the command line, it is an error with the hint. Its letter is not" +
			" that of an option of every script any more. An option that the script declares replaces it",
		Errors: "use is empty; short is not one letter",
		Source: source, Cost: "none for events",
		Examples: []b.Example{{
			Code: `opt.instead("write --duration 10s", short = "d")`, Output: "<option: instead>",
		}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			d := &declaration{decl: option.Option{Short: c.String("short")}, use: c.String("use")}
			if d.use == "" {
				return nil, c.Error("use", fmt.Errorf("got an empty text"), "write what to use")
			}
			return d, checkShort(c, d.decl.Short)
		},
	}
}

// letterOf returns name if it is a single letter, else "".
func letterOf(name string) string {
	if len(name) == 1 {
		return name
	}
	return ""
}

// unanswered returns the answers of a set that no option of the set and no later answer
// replaces. An answer loses its letter if an option or a later answer has the same letter.
func unanswered(set *option.Set) []option.Answer {
	var list []option.Answer
	for i, a := range set.Answers {
		later := set.Answers[i+1:]
		if find(set.Options, a.Name) >= 0 ||
			slices.ContainsFunc(later, func(b option.Answer) bool { return b.Name == a.Name }) {
			continue
		}
		if _, ok := set.Find(a.Short); ok ||
			slices.ContainsFunc(later, func(b option.Answer) bool { return b.Short == a.Short }) {
			a.Short = ""
		}
		if a.Short != "" || len(a.Name) > 1 {
			list = append(list, a)
		}
	}
	return list
}

func find(list []option.Option, name string) int {
	for i := range list {
		if list[i].Name == name {
			return i
		}
	}
	return -1
}

func consistent(list []option.Option) error {
	letters := map[string]string{}
	names := map[string]bool{}
	rest := ""
	for i := range list {
		o := &list[i]
		if names[o.Name] {
			return diag.Errorf(diag.Run, "options", o.Name, "declared by two of the included declarations").
				WithHint("declare %s here to replace both", o.Name)
		}
		names[o.Name] = true
		if o.Short != "" {
			if other := letters[o.Short]; other != "" {
				return diag.Errorf(diag.Run, "options", o.Name,
					"letter -%s is already used by %s", o.Short, other).
					WithHint("choose another letter, or none")
			}
			letters[o.Short] = o.Name
		}
		if o.Positional {
			if rest != "" {
				return diag.Errorf(diag.Run, "options", o.Name,
					"follows %s, which takes all arguments", rest).
					WithHint("declare %s before it", o.Name)
			}
			if o.List {
				rest = o.Name
			}
		}
	}
	return nil
}

// A declaration is the value of opt.NAME(...): an option without a name yet.
type declaration struct {
	decl option.Option
	use  string // what to use in the option's place; from opt.instead
}

func (o *declaration) String() string {
	return "<option: " + cmp.Or(string(o.decl.Type), "instead") + ">"
}
func (o *declaration) Type() string          { return "option" }
func (o *declaration) Freeze()               {} // immutable
func (o *declaration) Truth() starlark.Bool  { return true }
func (o *declaration) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: option") }

// common makes a declaration from the parameters that all opt.* share.
func common(c *b.Call, typ option.Type) (*declaration, error) {
	o := option.Option{
		Type: typ, Default: c.Value("default"), Short: c.String("short"),
		Metavar: c.String("metavar"), Help: strings.TrimSpace(c.String("help")),
		Required: c.Bool("required"),
	}
	if err := checkShort(c, o.Short); err != nil {
		return nil, err
	}
	if o.Required && c.Has("default") {
		return nil, c.Error("required", fmt.Errorf("the option has a default"),
			"leave out default or required")
	}
	return &declaration{decl: o}, nil
}

func checkShort(c *b.Call, short string) error {
	if len(short) > 1 || short != "" && !letter(short[0]) {
		return c.Error("short", fmt.Errorf("got %q, want one letter or digit", short),
			`write for example short = "F"`)
	}
	return nil
}

func letter(ch byte) bool {
	return ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
}

// finish converts the default to the option's type, or returns an error if it
// does not fit.
func (o *declaration) finish(c *b.Call) (starlark.Value, error) {
	if o.decl.Required {
		o.decl.Default = starlark.None
	}
	v, err := o.decl.Convert(o.decl.Default)
	if err != nil {
		return nil, c.Error("default", err, example(&o.decl))
	}
	o.decl.Default = v
	return o, nil
}

func example(o *option.Option) string {
	switch o.Type {
	case option.Duration:
		return "write for example 10 * ms"
	case option.Size:
		return "write for example 64 * KiB"
	case option.Choice:
		return fmt.Sprintf("write one of %s", strings.Join(o.Choices, ", "))
	}
	if o.List {
		return "write a list"
	}
	return "write a value of the option's type, or None"
}

// bound returns the argument min or max in the base unit of the option; nil if
// it is absent.
func bound(c *b.Call, name string, typ option.Type) (*int64, error) {
	if !c.Has(name) {
		return nil, nil
	}
	var n int64
	switch v := c.Value(name).(type) {
	case starlark.Int:
		n, _ = v.Int64()
		if typ != option.Int {
			return nil, c.Error(name, fmt.Errorf("got int %s, want %s", v, typ), "give the unit")
		}
	case value.Duration:
		n = int64(v)
		if typ != option.Duration {
			return nil, c.Errorf(name, "got duration %s, want %s", v, typ)
		}
	case value.Size:
		n = int64(v)
		if typ != option.Size {
			return nil, c.Errorf(name, "got size %s, want %s", v, typ)
		}
	}
	return &n, nil
}

// bareUnit returns the scale of numbers without a unit, from the argument bare;
// 0 if numbers need a unit.
func bareUnit(c *b.Call) (int64, error) {
	u, ok := c.Unit("bare")
	if !ok {
		return 0, nil
	}
	if u.Base != unit.NS.Base {
		return 0, c.Error("bare", fmt.Errorf("got %s, want a unit of time", u.Symbol),
			"write ns, us, ms or s")
	}
	return int64(u.Scale), nil
}
