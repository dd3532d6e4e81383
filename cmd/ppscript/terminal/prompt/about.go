package prompt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ppscript/builtins/explore"
	"ppscript/docs"
	"ppscript/runtime/event"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// This file answers ?name. It tries all meanings that a name can have, the nearest first.
// Profilers are loaded but not run; nothing else is called.

// About explains a name: a variable, a word of the language, a profiler or script, an event,
// a field of the events in use, or a page of the documentation. The error suggests similar
// names.
func (s *Session) About(name string) (string, error) {
	if name == "" {
		return s.Reg.Overview(), nil
	}
	for _, look := range []func(string) (string, bool){
		s.variable, s.Reg.HelpOfName, s.methods, s.profiler, s.events, s.fields, docs.Page,
	} {
		if text, ok := look(name); ok {
			return text, nil
		}
	}
	if strings.Contains(name, ":") {
		// Try to open the event: its error says why it is missing.
		if _, err := s.Bench.Fields(name); err != nil {
			return "", err
		}
	}
	known := slices.Concat(s.Reg.Names(), s.Scripts, docs.Names(),
		slices.Collect(maps.Keys(s.variables())))
	for _, b := range s.Reg.All() {
		known = append(known, b.Name)
	}
	return "", (&diag.Error{Op: "help", Subject: name,
		Cause: errors.New("no word, profiler, event or variable has this name" +
			diag.DidYouMean(name, known))}).
		WithHint("list the words: ?   the events: find_events(%q)", name)
}

// variables returns the globals that the user defined.
func (s *Session) variables() map[string]starlark.Value {
	own := map[string]starlark.Value{}
	for name, v := range s.Lang.Globals() {
		if _, word := s.Reg.Find(name); !word && !starlark.Universe.Has(name) {
			own[name] = v
		}
	}
	for _, space := range s.Reg.Spaces() {
		delete(own, space)
	}
	return own
}

// maxShown bounds the bytes of a value that are shown with its type.
const maxShown = 60

// variable describes a variable of the user: its type, its events and its
// methods.
func (s *Session) variable(name string) (string, bool) {
	v, ok := s.variables()[name]
	if !ok {
		return "", false
	}
	if f, ok := v.(*starlark.Function); ok {
		return s.Reg.HelpOf(f)
	}
	text := fmt.Sprintf("%s: %s\n", name, kindOf(v))
	if sources := explore.Sources(v); len(sources) > 0 {
		var names []string
		for _, src := range sources {
			names = append(names, src.FullName())
		}
		text += fmt.Sprintf("    events: %s; ?%s has the fields\n", strings.Join(names, ", "), names[0])
	}
	if x, ok := v.(starlark.HasAttrs); ok {
		typ := strings.ReplaceAll(v.Type(), " ", "_")
		members := slices.DeleteFunc(slices.Clone(x.AttrNames()), func(name string) bool {
			_, method := s.Reg.Find(typ + "." + name)
			return method
		})
		if len(members) > 0 {
			text += "    members: " + strings.Join(members, " ") + "\n"
		}
	}
	if help, ok := s.Reg.HelpOf(v); ok {
		text += help
	}
	return text, true
}

// kindOf returns the type of a value and its size or content.
func kindOf(v starlark.Value) string {
	switch v := v.(type) {
	case *explore.Result:
		return v.Describe()
	case starlark.String:
		return fmt.Sprintf("string of %d bytes, %.*q", v.Len(), maxShown, string(v))
	case starlark.Sequence:
		return fmt.Sprintf("%s of %d", v.Type(), v.Len())
	case starlark.Int, starlark.Float, starlark.Bool:
		return v.Type() + ", " + v.String()
	}
	text := v.String()
	if len(text) > maxShown || strings.HasPrefix(text, "<") {
		return v.Type()
	}
	return v.Type() + ", " + text
}

// methods returns the help of all methods with a name, of any type.
func (s *Session) methods(name string) (string, bool) {
	var parts []string
	for _, b := range s.Reg.All() {
		if b.Type != "" && b.Name == name {
			if text, ok := s.Reg.HelpOfName(b.FullName()); ok {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, "\n"), len(parts) > 0
}

// profiler returns the description of a profiler or script and its options.
func (s *Session) profiler(name string) (string, bool) {
	dashed := strings.ReplaceAll(name, "_", "-")
	if !slices.Contains(s.Scripts, dashed) {
		return "", false
	}
	m, err := s.Bench.Load(s.Lang.Host(), dashed)
	if err != nil {
		return "", false
	}
	text := strings.TrimSpace(m.Doc) + "\n\n"
	if m.Options != nil && len(m.Options.Options) > 0 {
		text += "Options of script(...):\n"
		for _, o := range m.Options.Options {
			text += fmt.Sprintf("    %-16s %s\n", strings.ReplaceAll(o.Name, "-", "_"), o.Help)
		}
	}
	return text + fmt.Sprintf("\nrun it here:  script(%q)\nall about it: ppscript help %[1]s\n", dashed), true
}

// events describes the fields of an event, which is given by its full name, by a pattern, or by
// its name without the system. SYSTEM:EVENT.FIELD describes one field.
func (s *Session) events(name string) (string, bool) {
	whole, field, one := strings.Cut(name, ".")
	if !strings.Contains(whole, ":") {
		found, err := tracefs.FindFormats().Match("*:" + whole)
		if err != nil || len(found) == 0 {
			return "", false
		}
		whole = found[0]
	}
	if one {
		return s.field(whole, field)
	}
	text, err := s.Bench.Fields(whole)
	return text, err == nil
}

// shownValues bounds the named values of a field that are listed.
const shownValues = 64

// units has the units of fields in words.
var units = map[event.Unit]string{
	event.Nanos: "a duration", event.Moment: "a time", event.SizeB: "bytes", event.Percent: "percent",
	event.CountOf: "a number of things", event.AddressU: "an address",
}

// field describes a field of an event.
func (s *Session) field(of, name string) (string, bool) {
	schemas, err := s.Bench.Schemas(of)
	if err != nil {
		return "", false
	}
	var text string
	for _, x := range schemas {
		f, ok := x.Field(name)
		if !ok {
			continue
		}
		text += fmt.Sprintf("%s.%s\n    %s\n", x.FullName(), name, f.Type)
		if unit := units[f.Unit]; unit != "" {
			text += "    " + unit + "\n"
		}
		for v := int64(0); v < shownValues && f.Shown != nil; v++ {
			if word, ok := f.Shown(event.IntOf(v)); ok && word != fmt.Sprint(v) {
				text += fmt.Sprintf("    %-6d %s\n", v, word)
			}
		}
	}
	return text, text != ""
}

// fields describes a field of the events that the user's variables use.
func (s *Session) fields(name string) (string, bool) {
	var text string
	seen := map[string]bool{}
	for _, v := range s.variables() {
		for _, src := range explore.Sources(v) {
			if full := src.FullName(); !seen[full] {
				seen[full] = true
				if one, ok := s.field(full, name); ok {
					text += one
				}
			}
		}
	}
	return text, text != ""
}
