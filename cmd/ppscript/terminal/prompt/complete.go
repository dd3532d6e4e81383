// Package prompt is the interactive prompt: it reads statements, has them run by
// package script, completes words, indents lines and answers questions for help.
// The language server uses its completion.
package prompt

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ppscript/builtins"
	"ppscript/builtins/explore"
	"ppscript/runtime/event"
	"ppscript/runtime/script"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/kerneltype"
)

// This file completes the statement at the prompt. It uses only the text before
// the cursor, and parses it as far as needed: which call is open, whether the
// cursor is in a string or a lambda, which type a chain of methods returns. It
// calls no function of the script, so TAB never starts anything.

// A Completer finds the possible continuations of a text.
type Completer struct {
	Lang    *script.REPL
	Reg     *builtins.Registry
	Bench   *explore.Workbench
	Scripts []string // names of scripts
	Events  []string // names of the kernel's events; nil: they are read when needed
	// Around is the text that contains the statement, such as a document of an
	// editor. Its events are used if the statement names none.
	Around string

	types *kerneltype.Types // nil until needed
}

// Candidates returns the words that may stand at the end of text. have is the
// part of the word that is there already; all words begin with it.
func (c *Completer) Candidates(text string) (list []string, have string) {
	at := scan(text)
	switch {
	case at.quote >= 0:
		have = text[at.quote+1:]
		list = c.texts(text[:at.quote], have, at)
	default:
		list, have = c.names(text, at)
	}
	list = slices.DeleteFunc(list, func(w string) bool { return !strings.HasPrefix(w, have) })
	slices.Sort(list)
	return slices.Compact(list), have
}

// A place describes the position at the end of a text.
type place struct {
	quote int   // offset of the quote of the open string; -1: not in a string
	open  []int // offsets of the open brackets
}

func scan(text string) place {
	p := place{quote: -1}
	for i := 0; i < len(text); i++ {
		ch := text[i]
		switch {
		case p.quote >= 0:
			if ch == '\\' {
				i++
			} else if ch == text[p.quote] {
				p.quote = -1
			}
		case ch == '"' || ch == '\'':
			p.quote = i
		case ch == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case ch == '(' || ch == '[' || ch == '{':
			p.open = append(p.open, i)
		case (ch == ')' || ch == ']' || ch == '}') && len(p.open) > 0:
			p.open = p.open[:len(p.open)-1]
		}
	}
	return p
}

// callee returns the name before the innermost open parenthesis, such as
// "agg.count", or ".where" in a chain; "" if there is none. at is the offset of
// the parenthesis, or -1.
func (p place) callee(text string) (name string, at int) {
	for i := len(p.open) - 1; i >= 0; i-- {
		if text[p.open[i]] != '(' {
			continue
		}
		end := p.open[i]
		start := end
		for start > 0 && (text[start-1] == '.' || isWord(text[start-1])) {
			start--
		}
		return text[start:end], end
	}
	return "", -1
}

func isWord(ch byte) bool {
	return ch == '_' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9'
}

// takesEvents are the builtins whose string arguments name events, takesFiles
// the ones whose string arguments name files.
var (
	takesEvents = []string{"tracepoint", "event", "events", "fields", "find_events", "record"}
	takesFiles  = []string{"use", "load", "script", "save"}
)

// texts completes inside a string literal. before is the text before its quote.
func (c *Completer) texts(before, have string, at place) []string {
	callee, _ := at.callee(before)
	last := callee[strings.LastIndexByte(callee, '.')+1:]
	keyword := lastKeyword.FindStringSubmatch(before)
	switch {
	case keyword != nil && (keyword[1] == "input" || keyword[1] == "file"),
		keyword == nil && slices.Contains(takesFiles, last):
		return append(files(have), c.scripts(last)...)
	case slices.Contains(takesEvents, last) && keyword == nil:
		return c.eventNames(have)
	case callee == "" || callee[0] != '.' && !strings.Contains(callee, "agg."):
		if !slices.Contains([]string{"where", "by", "hist", "let", "fold", "key", "sort"}, last) {
			return nil
		}
	}
	if members, typed, ok := c.kernelMembers(before + have); ok {
		for i := range members {
			members[i] = have[:len(have)-len(typed)] + members[i]
		}
		return members
	}
	return c.fields(before)
}

var lastKeyword = regexp.MustCompile(`(\w+)\s*=\s*$`)

func (c *Completer) scripts(callee string) []string {
	if callee == "script" {
		return c.Scripts
	}
	return nil
}

func files(have string) []string {
	dir, _ := filepath.Split(have)
	entries, err := os.ReadDir(filepath.Join(dir, "."))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := dir + e.Name()
		if e.IsDir() {
			name += "/"
		}
		out = append(out, name)
	}
	return out
}

// eventNames returns systems, or the events of a system once have contains a
// colon. have may be a list with commas, of which the last item is completed.
func (c *Completer) eventNames(have string) []string {
	i := strings.LastIndexByte(have, ',') + 1
	if c.Events == nil {
		var err error
		if c.Events, err = tracefs.FindFormats().Events(); err != nil {
			return nil
		}
	}
	colon := strings.Contains(have[i:], ":")
	var out []string
	for _, e := range c.Events {
		if !colon {
			e = e[:strings.IndexByte(e, ':')+1]
		}
		if strings.HasPrefix(e, have[i:]) && (len(out) == 0 || out[len(out)-1] != have[:i]+e) {
			out = append(out, have[:i]+e)
		}
	}
	return out
}

// eventText matches the names of events in string literals.
var eventText = regexp.MustCompile(`["']([a-z0-9_]+:[a-zA-Z0-9_*?\[\]]+)`)

// fields returns the fields of the events that a statement names, or that
// variables in it use.
func (c *Completer) fields(text string) []string {
	names := eventsIn(text)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r > 127 || !isWord(byte(r)) }) {
		if v, ok := c.Lang.Globals()[word]; ok {
			for _, s := range explore.Sources(v) {
				names = append(names, s.FullName())
			}
		}
	}
	if names == nil {
		names = eventsIn(c.Around)
	}
	var out []string
	for _, n := range names {
		schemas, err := c.Bench.Schemas(n)
		if err != nil {
			continue
		}
		for _, s := range schemas[:min(len(schemas), 50)] {
			out = append(out, s.Names()...)
		}
	}
	if names == nil || out == nil {
		out = (&event.Schema{}).Names()
	}
	return slices.DeleteFunc(out, func(n string) bool { return strings.HasPrefix(n, "common_") })
}

func eventsIn(text string) (names []string) {
	for _, m := range eventText.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// names completes names, methods, and parameters of the open call.
func (c *Completer) names(text string, at place) (list []string, have string) {
	if list, have, ok := c.kernelMembers(text); ok {
		return list, have
	}
	start := len(text)
	for start > 0 && (text[start-1] == '.' || isWord(text[start-1])) {
		start--
	}
	path := text[start:]
	i := strings.LastIndexByte(path, '.')
	switch {
	case i == 0 && start > 0 && strings.IndexByte(")]\"'", text[start-1]) >= 0:
		return c.members(c.typeBefore(text[:start])), path[1:]
	case i > 0 && c.isEvent(text[:start], path[:i]):
		return c.fields(text[:start]), path[i+1:]
	case i > 0:
		have = path[i+1:]
		if typ := c.typeOf(text[:start], path[:i]); typ != "" {
			return c.members(typ), have
		}
		for _, n := range c.Lang.Complete(path) {
			list = append(list, n[i+1:])
		}
		return list, have
	}
	list = c.Lang.Complete(path)
	if callee, end := at.callee(text); callee != "" &&
		strings.TrimLeft(text[strings.LastIndexAny(text[:start], "(,")+1:start], " \n") == "" {
		list = append(list, c.parameters(callee, text[:end])...)
	}
	return list, path
}

// eventParam matches the parameters of lambdas and functions, which may be
// events.
var eventParam = regexp.MustCompile(`(?:lambda\s+|\bdef \w+\()([a-z_A-Z0-9, ]+)\)?:`)

// isEvent reports that the first part of a dotted path is a parameter of a
// function in the text before, and so may be an event or a pair.
func (c *Completer) isEvent(before, path string) bool {
	name, _, _ := strings.Cut(path, ".")
	for _, m := range eventParam.FindAllStringSubmatch(before, -1) {
		for _, p := range strings.Split(m[1], ",") {
			if strings.TrimSpace(p) == name {
				return true
			}
		}
	}
	return false
}

// Declared returns the full name, such as "stream.where", of the word of the
// language that name means after the text before; "" if it is none.
func (c *Completer) Declared(before, name string) string {
	start := len(before)
	for start > 0 && (before[start-1] == '.' || isWord(before[start-1])) {
		start--
	}
	path := before[start:]
	if path != "" && path[0] != '.' && c.isEvent(before[:start], path) {
		return ""
	}
	b, ok := c.find(path+name, before+name)
	if !ok {
		return ""
	}
	return b.FullName()
}

// find returns the builtin that a callee means. before is the text that ends in
// the callee.
func (c *Completer) find(callee, before string) (*builtins.Builtin, bool) {
	name := callee
	if i := strings.LastIndexByte(callee, '.'); i >= 0 {
		if b, ok := c.Reg.Find(callee); ok {
			return b, true
		}
		name = callee[i+1:]
		typ := ""
		if i == 0 {
			typ = c.typeBefore(before[:len(before)-len(callee)])
		} else if v, ok := c.Lang.Globals()[callee[:i]]; ok {
			typ = strings.ReplaceAll(v.Type(), " ", "_")
		} else {
			typ = c.typeOf(before, callee[:i])
		}
		if b, ok := c.Reg.Find(typ + "." + name); ok {
			return b, true
		}
		for _, typ := range []string{"stream", "table", "groups", "result", "stacks"} {
			if b, ok := c.Reg.Find(typ + "." + name); ok {
				return b, true
			}
		}
		return nil, false
	}
	return c.Reg.Find(name)
}

// typeOf returns the type of a local variable by its last assignment in text; "" if it is not
// known.
func (c *Completer) typeOf(text, name string) string {
	if _, global := c.Lang.Globals()[name]; global || !isName(name) {
		return ""
	}
	assigned := regexp.MustCompile(`(?m)^[ \t]+` + name + `[ \t]*=[ \t]*([^=\s])`)
	all := assigned.FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 {
		return ""
	}
	begin := all[len(all)-1][2]
	return c.typeBefore(text[:expressionEnd(text, begin)])
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") != "" && !strings.ContainsAny(s, ".() ")
}

// expressionEnd returns the offset at which the expression that starts at begin ends: the first end
// of a line outside brackets.
func expressionEnd(text string, begin int) int {
	for end := begin; end < len(text); end++ {
		if text[end] != '\n' {
			continue
		}
		if at := scan(text[begin:end]); at.quote < 0 && len(at.open) == 0 {
			return len(strings.TrimRight(text[:end], " \t"))
		}
	}
	return len(strings.TrimRight(text, " \t\n"))
}

// A Call is the call whose arguments the user is writing. The current argument is given by its
// position, or by its name in Keyword.
type Call struct {
	Name     string
	Builtin  *builtins.Builtin // nil: a function of the script
	Position int
	Keyword  string
}

// argumentName matches the name of a keyword argument, with or without a value.
var argumentName = regexp.MustCompile(`^\s*(\w+)\s*=(?:[^=]|$)`)

// Call returns the innermost open call at the end of a text; its Name is "" if there is
// none.
func (c *Completer) Call(text string) (call Call) {
	at := scan(text)
	name, end := at.callee(text)
	if name == "" {
		return call
	}
	call.Name = name
	if b, ok := c.find(name, text[:end]); ok {
		call.Builtin = b
	}
	last := end + 1
	for i := end + 1; i < len(text); i++ {
		if text[i] != ',' {
			continue
		}
		if inner := scan(text[end+1 : i]); inner.quote < 0 && len(inner.open) == 0 {
			call.Position, last = call.Position+1, i+1
		}
	}
	if m := argumentName.FindStringSubmatch(text[last:]); m != nil {
		call.Keyword = m[1]
	}
	return call
}

func (c *Completer) parameters(callee, before string) []string {
	b, ok := c.find(callee, before)
	if !ok {
		return nil
	}
	var out []string
	for _, p := range b.Params {
		if p.Rest == "" {
			out = append(out, p.Name+" = ")
		}
	}
	return out
}

// typeBefore returns the result type of the call in which text ends; "" if it
// is not known.
func (c *Completer) typeBefore(text string) string {
	if !strings.HasSuffix(text, ")") {
		return ""
	}
	open := matching(text)
	if open < 0 {
		return ""
	}
	callee, _ := place{open: []int{open}}.callee(text[:open+1])
	b, ok := c.find(callee, text[:open])
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(b.Returns, " ")
	word, _, _ = strings.Cut(word, "[")
	if word == "histogram" {
		word = "table"
	}
	return word
}

// matching returns the offset of the parenthesis that the last byte of text
// closes; -1 if there is none.
func matching(text string) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] != '(' {
			continue
		}
		at := scan(text[:i+1])
		if at.quote >= 0 {
			continue
		}
		if rest := scan(text[:len(text)-1]); len(rest.open) > 0 && rest.open[len(rest.open)-1] == i {
			return i
		}
	}
	return -1
}

// members returns the methods of a type; for an unknown type, all methods.
func (c *Completer) members(typ string) []string {
	var own, all []string
	for _, b := range c.Reg.All() {
		if b.Type == "" {
			continue
		}
		all = append(all, b.Name)
		if strings.ReplaceAll(b.Type, " ", "_") == typ {
			own = append(own, b.Name)
		}
	}
	if own == nil {
		return all
	}
	return own
}
