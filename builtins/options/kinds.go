package options

import (
	"fmt"

	b "ppscript/builtins"
	"ppscript/runtime/script/option"

	"go.starlark.net/starlark"
)

// A kind describes one builtin opt.NAME.
type kind struct {
	name    string
	typ     option.Type
	summary string
	deflt   b.Type   // type of the default; the zero value: no default
	extra   []string // names of its additional parameters
	list    bool
	args    bool
	result  string
	example b.Example
}

var kinds = []kind{
	{name: "string", typ: option.String, summary: "An option whose value is text.",
		deflt: b.String, result: "text as given", extra: []string{"repeated", "alone", "words"},
		example: b.Example{Code: `opt.string("", help = "kernel filter")`, Output: "<option: string>"}},
	{name: "int", typ: option.Int, summary: "An option whose value is a whole number.",
		deflt: b.Int, result: "an int; 0x and 0o are understood",
		extra:   []string{"min", "max", "repeated", "times", "argument"},
		example: b.Example{Code: `opt.int(10, min = 1, help = "how many rows")`, Output: "<option: int>"}},
	{name: "float", typ: option.Float, summary: "An option whose value is a number.",
		deflt: b.Float, result: "a float", extra: []string{"repeated"},
		example: b.Example{Code: `opt.float(0.99, help = "quantile")`, Output: "<option: float>"}},
	{name: "flag", typ: option.Flag, summary: "An option without a value: given or not.",
		result: "True if given", extra: []string{"repeated"},
		example: b.Example{Code: `opt.flag(help = "one row per instance")`, Output: "<option: flag>"}},
	{name: "duration", typ: option.Duration, summary: "An option whose value is a length of time.",
		deflt: b.Duration, result: "a duration",
		extra: []string{"bare", "min", "max", "repeated", "along", "gives", "argument"},
		example: b.Example{
			Code:   `opt.duration(None, bare = ns, help = "only longer ones")`,
			Output: "<option: duration>",
		}},
	{name: "size", typ: option.Size, summary: "An option whose value is a number of bytes.",
		deflt: b.Size, result: "a size; suffixes are powers of 1024",
		extra:   []string{"min", "max", "repeated"},
		example: b.Example{Code: `opt.size(64 * KiB, help = "only larger ones")`, Output: "<option: size>"}},
	{name: "choice", typ: option.Choice, summary: "An option whose value is one of some words.",
		deflt: b.String, result: "the word", extra: []string{"choices", "repeated", "alone", "suffix"},
		example: b.Example{
			Code: `opt.choice(["pid", "comm"], "comm", help = "group by")`, Output: "<option: choice>",
		}},
	{name: "list", typ: option.String, summary: "An option whose value is a list of texts, separated by commas or repeated.",
		deflt: b.ListOf(b.String), list: true, result: "a tuple of texts; empty if not given",
		example: b.Example{Code: `opt.list(help = "threads to leave out")`, Output: "<option: string>"}},
	{name: "events", typ: option.Events, summary: "An option whose values are events in perf-prof's syntax; it may be repeated.",
		deflt: b.Or(b.ListOf(b.String), b.String), list: true,
		result: "a tuple of texts, one for each time it is given", extra: []string{"recorded"},
		example: b.Example{
			Code: `opt.events(short = "e", help = "events to relate")`, Output: "<option: events>",
		}},
	{name: "args", typ: option.String, summary: "The arguments after the options.",
		deflt: b.ListOf(b.String), list: true, args: true, result: "a tuple of texts",
		example: b.Example{
			Code:   `opt.args(metavar = "EXPR", help = "expressions to print")`,
			Output: "<option: string>",
		}},
	{name: "arg", typ: option.String, summary: "One argument after the options.",
		deflt: b.String, args: true, result: "text",
		example: b.Example{Code: `opt.arg(metavar = "ADDR", required = True)`, Output: "<option: string>"}},
}

func (k kind) builtin() *b.Builtin {
	x := &b.Builtin{
		Name: "opt." + k.name, Group: b.Options, Summary: k.summary,
		Returns: "option", Result: "the option's value in main is " + k.result,
		Errors: "the default does not fit; short is not one letter",
		Source: source, Cost: "none for events",
		Examples: []b.Example{k.example},
		Impl:     k.make,
	}
	has := func(name string) bool {
		for _, e := range k.extra {
			if e == name {
				return true
			}
		}
		return false
	}
	if has("choices") {
		x.Params = append(x.Params, b.Param{
			Name: "choices", Type: b.ListOf(b.String), Required: true, Doc: "the words",
		})
	}
	deflt := b.Param{Name: "default", Type: k.deflt, Doc: "value if the option is not given; None for absent"}
	if k.deflt.Name == "" {
		deflt = b.Param{
			Name:    "default",
			Type:    b.Bool,
			Default: starlark.False,
			Doc:     "value if the option is not given",
		}
	}
	if has("repeated") {
		deflt.Type = b.Or(deflt.Type, b.ListOf(deflt.Type))
	}
	x.Params = append(x.Params, deflt,
		b.Param{
			Name:    "help",
			Type:    b.String,
			Default: starlark.String(""),
			Named:   true,
			Doc:     "what --help says",
		},
		b.Param{
			Name:    "metavar",
			Type:    b.String,
			Default: b.Text("from the kind"),
			Named:   true,
			Doc:     "what --help shows for the value",
		},
		b.Param{
			Name:    "required",
			Type:    b.Bool,
			Default: starlark.False,
			Named:   true,
			Doc:     "an error if it is not given",
		})
	if !k.args {
		x.Params = append(x.Params,
			b.Param{
				Name:    "short",
				Type:    b.String,
				Default: starlark.String(""),
				Named:   true,
				Doc:     "one-letter name",
			})
	} else {
		x.Params = append(x.Params,
			b.Param{
				Name:    "short",
				Type:    b.OneOf(""),
				Default: starlark.String(""),
				Named:   true,
				Doc:     "arguments have no letter",
			})
	}
	if has("repeated") {
		x.Params = append(x.Params,
			b.Param{Name: "repeated", Type: b.Bool, Default: starlark.False, Named: true,
				Doc: "may be given several times; the value is a tuple"})
	}
	if has("alone") {
		x.Params = append(x.Params, b.Param{Name: "alone", Type: b.String, Named: true,
			Doc: "value of --name alone; other values are given by --name=VALUE, or by --name WORD for one of the known words"})
	}
	if has("recorded") {
		x.Params = append(x.Params, b.Param{Name: "recorded", Type: b.String, Named: true,
			Doc: "value with --input if the option is not given; \"*:*\" is all that the recording has"})
	}
	if has("along") {
		x.Params = append(x.Params, b.Param{Name: "along", Type: b.String, Named: true,
			Doc: "the option that this default belongs to; if that is not given, the value is None"})
	}
	if has("gives") {
		x.Params = append(x.Params, b.Param{Name: "gives", Type: b.String, Named: true,
			Doc: "another option that gets the same value if this one is given"})
	}
	if has("words") {
		x.Params = append(x.Params, b.Param{Name: "words", Type: b.ListOf(b.String), Named: true,
			Doc: "the usual texts, which completion offers; other texts are accepted too"})
	}
	if has("suffix") {
		x.Params = append(x.Params,
			b.Param{Name: "suffix", Type: b.Bool, Default: starlark.False, Named: true,
				Doc: "a comma and more text may follow the word, and are a part of the value: dwarf,8192"})
	}
	if has("bare") {
		x.Params = append(x.Params,
			b.Param{Name: "bare", Type: b.UnitType, Default: starlark.None, Named: true,
				Doc: "unit of a number without one, such as --than 1000; if it is left out, numbers need a unit"})
	}
	if has("times") {
		x.Params = append(x.Params, b.Param{Name: "times", Type: b.Bool, Default: starlark.False, Named: true,
			Doc: "a length of time is accepted too, and counts in ns: 1ms is 1000000"})
	}
	if has("argument") {
		x.Params = append(x.Params, b.Param{
			Name: "argument", Type: b.Bool, Default: starlark.False, Named: true,
			Doc: "a number where a command could begin is its value, too: ext4slower 1; several in the order of the declarations"})
	}
	for _, name := range []string{"min", "max"} {
		if has(name) {
			x.Params = append(x.Params,
				b.Param{Name: name, Type: b.Or(b.Int, b.Is("duration"), b.Is("size")), Named: true,
					Doc: map[string]string{"min": "smallest value", "max": "largest value"}[name]})
		}
	}
	return x
}

// make implements all builtins opt.NAME.
func (k kind) make(c *b.Call) (starlark.Value, error) {
	o, err := common(c, k.typ)
	if err != nil {
		return nil, err
	}
	o.decl.List, o.decl.Positional = k.list, k.args
	for _, name := range k.extra {
		switch name {
		case "repeated":
			if o.decl.List = c.Bool("repeated"); o.decl.List && k.typ == option.Flag {
				o.decl.Default = starlark.None // no False: a tuple with one element per use
			}
			o.decl.Whole = k.typ == option.String // commas do not separate values of a text
		case "argument":
			o.decl.Argument = c.Bool("argument")
		case "times":
			o.decl.Times = c.Bool("times")
		case "alone":
			o.decl.Alone = c.String("alone")
		case "recorded":
			o.decl.Recorded = c.String("recorded")
		case "along":
			o.decl.Along = c.String("along")
		case "gives":
			o.decl.Gives = c.String("gives")
		case "words":
			if c.Has("words") {
				o.decl.Words = c.Strings("words")
			}
		case "suffix":
			o.decl.Suffix = c.Bool("suffix")
		case "choices":
			if o.decl.Choices = c.Strings("choices"); len(o.decl.Choices) == 0 {
				return nil, c.Error("choices", fmt.Errorf("got none, want at least 1"),
					`write opt.choice(["a", "b"])`)
			}
		case "bare":
			if o.decl.Bare, err = bareUnit(c); err != nil {
				return nil, err
			}
		case "min":
			if o.decl.Min, err = bound(c, "min", k.typ); err != nil {
				return nil, err
			}
		case "max":
			if o.decl.Max, err = bound(c, "max", k.typ); err != nil {
				return nil, err
			}
		}
	}
	return o.finish(c)
}
