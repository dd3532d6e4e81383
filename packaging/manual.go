package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file makes manual pages from the program's own help, so that both say
// the same.

// commands returns the names that get a page of their own: profilers, questions and
// subcommands, as the program's completion lists them.
func commands(program string) ([]string, error) {
	text, err := output(program, "__complete", "")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if name != "" && !strings.HasPrefix(name, ":") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// manuals writes the pages of ppscript, its profilers and its subcommands.
func (d *distribution) manuals(program string) ([]file, error) {
	names, err := commands(program)
	if err != nil {
		return nil, err
	}
	var files []file
	page := func(name string, args ...string) error {
		help, err := output(program, args...)
		if err != nil {
			return err
		}
		text := squeezed([]byte(d.manual(name, help, names)))
		f, err := d.written("/usr/share/man/man1/"+name+".1.gz", text)
		files = append(files, f)
		return err
	}
	if err := page("ppscript", "--help-all"); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := page("ppscript-"+name, "help", name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// manual converts help to a manual page in man's macros.
func (d *distribution) manual(name, help string, others []string) string {
	r := roff{}
	r.line(".TH %q 1 %q \"\" \"ppscript\"", strings.ToUpper(name), d.time.Format("2006-01-02"))
	question, rest := named(help)
	r.line(".SH NAME")
	r.line(`%s \- %s`, quoted(name), quoted(question))
	parts := sections(rest)
	// Manual pages begin with the usage.
	if i := slices.IndexFunc(parts, func(s section) bool { return s.heading == "Usage" }); i > 0 {
		usage := parts[i]
		parts = slices.Insert(slices.Delete(parts, i, i+1), 0, usage)
	}
	for _, s := range parts {
		switch {
		case len(s.lines) == 0:
			continue
		case s.heading == "Usage":
			s.heading = "SYNOPSIS"
		case s.heading == "":
			s.heading = "DESCRIPTION"
		}
		r.line(".SH %q", strings.ToUpper(s.heading))
		r.body(s.lines, s.heading == "Arguments")
	}
	r.line(".SH \"SEE ALSO\"")
	if name == "ppscript" {
		pages := make([]string, len(others))
		for i, other := range others {
			pages[i] = fmt.Sprintf(`\fBppscript\-%s\fR(1)`, quoted(other))
		}
		r.line("%s", strings.Join(pages, ",\n"))
		r.line(".PP")
	} else {
		r.line(`\fBppscript\fR(1) has the options of every script.`)
	}
	r.line("The book is in /usr/share/doc/ppscript, and in the program: ppscript help topics.")
	return r.String()
}

// named splits help into its first sentence and the rest. If the first paragraph
// has more than one sentence, rest is the whole help.
func named(help string) (question, rest string) {
	first, below, _ := strings.Cut(help, "\n\n")
	first = strings.Join(strings.Fields(strings.TrimPrefix(first, "ppscript: ")), " ")
	question, more, _ := strings.Cut(first, ". ")
	if more != "" {
		below = help
	}
	return strings.TrimSuffix(question, "."), below
}

// A section is a part of help with its heading, which is "" for the first one.
type section struct {
	heading string
	lines   []string
}

// sections splits help at its headings: lines at the margin of up to four words
// that begin with a capital letter.
func sections(help string) []section {
	list := []section{{}}
	for line := range strings.SplitSeq(help, "\n") {
		alone := line != "" && line[0] >= 'A' && line[0] <= 'Z' && !strings.ContainsAny(line, ".,:") &&
			len(strings.Fields(line)) <= 4
		if alone {
			list = append(list, section{heading: line})
			continue
		}
		last := &list[len(list)-1]
		if line != "" || len(last.lines) > 0 {
			last.lines = append(last.lines, line)
		}
	}
	return list
}

// A roff collects the text of a page.
type roff struct{ strings.Builder }

func (r *roff) line(format string, args ...any) { fmt.Fprintf(&r.Builder, format+"\n", args...) }

// helpColumn is a column to the right of the beginning of option names, and not
// to the right of their help.
const helpColumn = 20

// body writes the lines of a section: options and arguments as tagged
// paragraphs, other indented lines unchanged, the rest as prose.
func (r *roff) body(lines []string, arguments bool) {
	literal, tagged := false, false
	var sample []string // lines to write unchanged
	set := func(to bool) {
		if !to && literal {
			r.sample(sample)
			sample = nil
		}
		literal = to
	}
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		switch {
		case text == "" && literal && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    "):
			sample = append(sample, "")
		case text == "":
			set(false)
			tagged = false
			r.line(".PP")
		case literal && i > 0 && strings.HasSuffix(lines[i-1], `\`): // a command continues
			sample = append(sample, line[4:])
		case indent >= 4 && indent <= 8 && (arguments || strings.HasPrefix(text, "-")) &&
			!strings.HasPrefix(text, "---"):
			set(false)
			tagged = true
			name, help, _ := strings.Cut(text, "  ")
			r.line(".TP\n\\fB%s\\fR", quoted(name))
			if help = strings.TrimSpace(help); help != "" {
				r.line("%s", quoted(help))
			}
		case indent >= helpColumn && tagged:
			r.line("%s", quoted(text))
		case indent >= 4:
			set(true)
			sample = append(sample, line[4:])
		default:
			set(false)
			r.line("%s", quoted(line))
		}
	}
	set(false)
}

// pageWidth is the width of manual pages on most terminals, proseIndent the indentation of prose
// in them.
const pageWidth, proseIndent = 80, 7

// sample writes lines unchanged: indented as prose, or less if they would not fit.
func (r *roff) sample(lines []string) {
	widest := 0
	for _, line := range lines {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	r.line(".PP\n.in %dn\n.nf", max(0, min(proseIndent, pageWidth-widest)))
	for _, line := range lines {
		r.line("%s", quoted(line))
	}
	r.line(".fi\n.in")
}

// quoted escapes text so that roff finds no command in it.
func quoted(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
