package option

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/script/value"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

// A Type says how the text of an option is converted to a value.
type Type string

const (
	String   Type = "string"
	Int      Type = "int" // with Times, 1ms is a number of ns
	Float    Type = "float"
	Flag     Type = "flag"     // no argument; False unless given
	Duration Type = "duration" // 10ms; Bare is the unit of 10
	Size     Type = "size"     // 64k
	Choice   Type = "choice"   // one of Choices
	Events   Type = "events"   // event strings of perf-prof's syntax; always a list
)

// An Option is one declared option of a script. cmd/ppscript makes a flag and
// the text of --help from it, and passes the texts to Set.Values.
type Option struct {
	Name    string // attribute of o; on the command line, - stands for _
	Short   string // one letter, or ""
	Type    Type
	Choices []string
	// List is set if the value is a list: the option may be repeated, and each
	// text is split at commas, except texts of events, which contain commas.
	List bool
	// Whole says that the texts of a list are not split.
	Whole bool
	// Positional is set for the arguments after the options.
	Positional bool
	Required   bool
	// Default is the value if the option is not given; None if there is no
	// default.
	Default starlark.Value
	Number
	Metavar string // what --help shows for the value
	// Gives is the name of another option of the command line that has the same value if this one is
	// given; "" if there is none.
	Gives string
	Text
	Help string
}

// A Text has rules for the text of an option.
type Text struct {
	// Alone is the text if the option is given without a value, as --detail for
	// --detail=LIST; if empty, a value is required.
	Alone string
	// Recorded is the text if the option is not given and events come from a
	// recording; if empty, there is none.
	Recorded string
	// Along is the name of another option: Default is used only if that option is given. If empty,
	// Default is always used.
	Along string
	// Words are the usual values of a string; other texts are allowed too.
	Words []string
	// Suffix says that a comma and more text may follow one of Choices:
	// dwarf,8192.
	Suffix bool
}

// A Number has rules for the text of a number, and its bounds.
type Number struct {
	// Bare is the unit, in ns, of a duration that is given without a unit: 1
	// for --than, 1e6 if perf-prof has ms.
	Bare     int64
	Times    bool   // for Int: a duration is accepted, as its number of ns
	Argument bool   // a number where the command could begin is its value: ext4slower 1
	Min, Max *int64 // bounds of an Int, or of a Duration or Size in base units
}

// Flag is the option's name on the command line.
func (o *Option) Flag() string { return strings.ReplaceAll(o.Name, "_", "-") }

// Takes reports that the word after an option whose value may be left out is
// its value: --user-callchain dwarf. Any other word is the next argument.
func (o *Option) Takes(word string) bool {
	if o.Alone == "" {
		return false
	}
	first, _, more := strings.Cut(word, ",")
	return slices.Contains(o.Words, first) || slices.Contains(o.Choices, first) && (o.Suffix || !more)
}

// Requirement is the text after the option's help that says when the option is required; "" if it
// is optional.
func (o *Option) Requirement() string {
	switch {
	case o.Required && o.Recorded != "":
		return "(required without --input)"
	case o.Required:
		return "(required)"
	}
	return ""
}

// Label is the name of the option in messages: --than, or the name of a
// positional argument.
func (o *Option) Label() string {
	if o.Positional {
		return cmp.Or(o.Metavar, o.Name)
	}
	return "--" + o.Flag()
}

// sort is the word before the label in messages: option or argument.
func (o *Option) sort() string {
	if o.Positional {
		return "argument"
	}
	return "option"
}

// Placeholder is the text in place of the value in --help; "" for flags.
func (o *Option) Placeholder() string {
	switch {
	case o.Metavar != "":
		return o.Metavar
	case o.Type == Flag:
		return ""
	case o.Type == Choice:
		return strings.Join(o.Choices, "|")
	case o.Type == Events:
		return "EVENT"
	case o.Type == Int, o.Type == Float:
		return "N"
	case o.Type == Duration && o.Bare > 1:
		return "TIME (default unit " + bareName(o.Bare) + ")"
	case o.Type == Duration:
		return "TIME"
	}
	return strings.ToUpper(string(o.Type))
}

func bareName(ns int64) string {
	for _, u := range []unit.Unit{unit.NS, unit.US, unit.MS, unit.S} {
		if u.Scale == float64(ns) {
			return u.Symbol
		}
	}
	return "ns"
}

// DefaultText is the default in --help; "" if there is none.
func (o *Option) DefaultText() string {
	switch v := o.Default.(type) {
	case nil, starlark.NoneType:
		return ""
	case starlark.String:
		return string(v)
	case starlark.Bool:
		if !v {
			return ""
		}
	case starlark.Indexable:
		var parts []string
		for i := range v.Len() {
			if s, ok := starlark.AsString(v.Index(i)); ok {
				parts = append(parts, s)
			} else {
				parts = append(parts, v.Index(i).String())
			}
		}
		return strings.Join(parts, ",")
	}
	return o.Default.String()
}

// Parse converts the text of an option to its value; for a list, the text of
// one occurrence. Errors are *diag.Error of class Usage.
func (o *Option) Parse(text string) (starlark.Value, error) {
	if !o.List {
		return o.one(text)
	}
	parts := []string{text}
	if o.Type != Events && !o.Positional && !o.Whole {
		parts = strings.Split(text, ",")
	}
	var vs []starlark.Value
	for _, p := range parts {
		v, err := o.one(strings.TrimSpace(p))
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return starlark.Tuple(vs), nil
}

func (o *Option) one(text string) (starlark.Value, error) {
	v, err := o.scalar(text)
	if err == nil {
		err = o.inRange(v)
	}
	if err != nil {
		d := &diag.Error{Op: o.sort(), Subject: o.Label(), Cause: err, Class: diag.Usage, Hint: o.hint()}
		return nil, d
	}
	return v, nil
}

func (o *Option) scalar(text string) (starlark.Value, error) {
	switch o.Type {
	case Int:
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil && o.Times {
			if n, err = unit.ParseDuration(text, 1); err != nil {
				return nil, fmt.Errorf("got %q, want an integer, or a length of time such as 1ms", text)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("got %q, want an integer", text)
		}
		return starlark.MakeInt64(n), nil
	case Float:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != f || f-f != 0 {
			return nil, fmt.Errorf("got %q, want a number", text)
		}
		return starlark.Float(f), nil
	case Flag:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("got %q, want true or false", text)
		}
		return starlark.Bool(b), nil
	case Duration:
		n, err := unit.ParseDuration(text, o.Bare)
		return value.Duration(n), err
	case Size:
		n, err := unit.ParseSize(text)
		return value.Size(n), err
	case Choice:
		word := text
		if o.Suffix {
			word, _, _ = strings.Cut(text, ",")
		}
		if !slices.Contains(o.Choices, word) {
			return nil, fmt.Errorf("got %q, want one of %s%s", text,
				strings.Join(o.Choices, ", "), diag.DidYouMean(text, o.Choices))
		}
	case Events:
		if text == "" {
			return nil, fmt.Errorf("got an empty text, want an event such as sched:sched_switch")
		}
	}
	return starlark.String(text), nil
}

func (o *Option) inRange(v starlark.Value) error {
	var n int64
	show := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch v := v.(type) {
	case starlark.Int:
		n, _ = v.Int64()
	case value.Duration:
		n, show = int64(v), unit.Duration
	case value.Size:
		n, show = int64(v), unit.Size
	default:
		return nil
	}
	if o.Min != nil && n < *o.Min {
		return fmt.Errorf("got %s, want at least %s", show(n), show(*o.Min))
	}
	if o.Max != nil && n > *o.Max {
		return fmt.Errorf("got %s, want at most %s", show(n), show(*o.Max))
	}
	return nil
}

func (o *Option) hint() string {
	example := map[Type]string{Int: "10", Float: "0.5", Duration: "10ms", Size: "64k",
		Events: "sched:sched_switch"}[o.Type]
	switch {
	case o.Type == Choice && len(o.Choices) > 0:
		example = o.Choices[0]
	case example == "":
		return ""
	}
	if o.Positional {
		return "write for example " + example
	}
	return fmt.Sprintf("write for example --%s %s", o.Flag(), example)
}

// Convert checks a value from the script itself, such as a default: it must
// have the option's type, or be a text in the option's syntax.
func (o *Option) Convert(v starlark.Value) (starlark.Value, error) {
	if v == starlark.None {
		return v, nil
	}
	if o.List {
		if text, ok := starlark.AsString(v); ok && o.Type == Events {
			return o.Parse(text)
		}
		seq, ok := v.(starlark.Indexable)
		if _, text := v.(starlark.String); !ok || text {
			return nil, fmt.Errorf("got %s, want a list", v.Type())
		}
		var vs starlark.Tuple
		for i := range seq.Len() {
			m, err := o.convertOne(seq.Index(i))
			if err != nil {
				return nil, err
			}
			vs = append(vs, m)
		}
		return vs, nil
	}
	return o.convertOne(v)
}

func (o *Option) convertOne(v starlark.Value) (starlark.Value, error) {
	if text, ok := starlark.AsString(v); ok && o.Type != Flag {
		m, err := o.scalar(text)
		if err != nil {
			return nil, err
		}
		return m, o.inRange(m)
	}
	ok := false
	switch v := v.(type) {
	case starlark.Int:
		ok = o.Type == Int
		if o.Type == Float {
			f := v.Float()
			return f, nil
		}
		if _, fits := v.Int64(); ok && !fits {
			return nil, fmt.Errorf("%s does not fit in 64 bits", v)
		}
	case starlark.Float:
		ok = o.Type == Float
	case starlark.Bool:
		ok = o.Type == Flag
	case value.Duration:
		ok = o.Type == Duration
	case value.Size:
		ok = o.Type == Size
	}
	if !ok {
		return nil, fmt.Errorf("got %s, want %s", v.Type(), o.Type)
	}
	return v, o.inRange(v)
}
