package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/docs"
	"ppscript/runtime/text/diag"
)

// This file explains the last error, for the statement "why".

// asksWhy reports that a statement asks why the last one failed. A variable
// named why hides the question.
func (s *Session) asksWhy(statement string) bool {
	word := strings.TrimSpace(statement)
	_, own := s.Lang.Globals()["why"]
	return !own && (word == "why" || word == "why?" || word == "why()")
}

// Why explains the last error: which statement failed and where, what can be done,
// and which page of the documentation is about it.
func (s *Session) Why() string {
	if s.failed.err == nil {
		return "nothing has failed here yet\n"
	}
	var b strings.Builder
	errs := console.Flatten(s.failed.err)
	for i, err := range errs {
		if i > 0 {
			b.WriteString("\n")
		}
		s.explain(&b, err)
	}
	return b.String()
}

// explain writes the explanation of one error, with a labelled line for each
// part.
func (s *Session) explain(b *strings.Builder, err error) {
	say := func(label, text string) {
		for line := range strings.Lines(text) {
			line = fmt.Sprintf("%-10s %s", label, strings.TrimRight(line, "\n"))
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			label = ""
		}
	}
	width := console.TerminalWidth(s.Console.Stdout) - 12
	prose := func(label, text string) { say(label, filled(text, width)) }
	problem := console.Problems(err)[0]
	say("statement", s.failed.statement)
	prose("error", problem.Message)
	if problem.File != "" {
		where := problem.File
		if problem.Line > 0 {
			where = fmt.Sprintf("%s, line %d, column %d", problem.File, problem.Line, problem.Column)
		}
		say("where", where)
	}
	if problem.Excerpt != "" {
		say("", problem.Excerpt)
	}
	prose("kind", kinds[diag.ClassOf(err)])
	if problem.Hint != "" {
		prose("hint", problem.Hint)
	}
	if better, ok := corrected(s.failed.statement, problem.Message); ok {
		say("try", better)
	}
	if word := s.wordOf(err); word != "" {
		text, _ := s.Reg.HelpOfName(word)
		say("about", firstLines(text))
	}
	if page := cmp.Or(pageFor(problem.Message), pageFor(problem.Hint)); page != "" {
		say("read", "ppscript help "+page)
	}
}

// filled breaks a text between words into lines of at most width columns. A width below 20 means
// that the width is not known: the text stays as it is.
func filled(text string, width int) string {
	if width < 20 {
		return text
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// kinds says in words what an error of each class is about.
var kinds = map[diag.Class]string{
	diag.Run:    "the statement itself, or what it met while it ran",
	diag.Usage:  "a name or value that was given",
	diag.Attach: "this machine, or the recording, does not have or allow it: see doctor()",
}

// wordOf returns the word of the language that reported an error; "" if there
// is none.
func (s *Session) wordOf(err error) string {
	var e *diag.Error
	for errors.As(err, &e) {
		word, _, _ := strings.Cut(strings.TrimSpace(e.Op), " ")
		if _, ok := s.Reg.Find(word); ok && e.Pos != "" { // without a position, the error is about the run
			return word
		}
		err = e.Cause
	}
	return ""
}

// firstLines returns the signature, the summary and the possible errors from
// the help of a word.
func firstLines(help string) string {
	lines := strings.Split(strings.TrimRight(help, "\n"), "\n")
	kept := lines[:min(2, len(lines))]
	for _, line := range lines[len(kept):] {
		if strings.HasPrefix(strings.TrimSpace(line), "Errors ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// corrected replaces the misspelt word of a statement by the word that the message suggests. The
// misspelt word is in the message, before "did you mean".
func corrected(statement, message string) (string, bool) {
	i := strings.Index(message, "(did you mean ")
	if i < 0 {
		return "", false
	}
	right, _, ok := strings.Cut(message[i+len("(did you mean "):], "?)")
	if !ok {
		return "", false
	}
	words := strings.FieldsFunc(message[:i], func(r rune) bool { return strings.ContainsRune(` ,'"`, r) })
	for j := len(words) - 1; j >= 0; j-- {
		wrong := strings.TrimRight(words[j], ":")
		if diag.Nearest(wrong, []string{right}) != right || wrong == right {
			continue
		}
		whole := regexp.MustCompile(`(^|[^\w:])` + regexp.QuoteMeta(wrong) + `($|[^\w:])`)
		if whole.MatchString(statement) {
			return whole.ReplaceAllString(statement, "${1}"+strings.ReplaceAll(right, "$", "$$")+"${2}"), true
		}
	}
	return "", false
}

// pages has the page of the documentation for an error. The first entry that matches the
// message and the hint counts.
var pages = []struct {
	about *regexp.Regexp
	page  string
}{
	{regexp.MustCompile(`--allow|not permitted to write|may not write|signed`), "security"},
	{regexp.MustCompile(`(?i)permission|CAP_|capabilit`), "production"},
	{regexp.MustCompile(`\b(steps|too deep|too large|too much memory|takes too long|limits?\.md)\b`), "limits"},
	{regexp.MustCompile(`\b(cast|task\(\)|container_of|struct|->)`), "kernel-data"},
	{regexp.MustCompile(`\b(unit|pod|container|cgroup)\b[^,]`), "containers"},
	{regexp.MustCompile(`\bduring\b|\bspans?\b`), "spans"},
	{regexp.MustCompile(`\bbudget\b`), "budget"},
	{regexp.MustCompile(`\bsyntax\b|undefined name|binary op|missing argument|no field|unknown variable|` +
		`no such event|\bgot\b`), "language"},
}

func pageFor(text string) string {
	for _, p := range pages {
		if p.about.MatchString(text) {
			if _, ok := docs.Page(p.page); ok {
				return p.page
			}
		}
	}
	return ""
}
