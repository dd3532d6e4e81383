package cexpr

import (
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
)

// This file decides whether a kernel can accept a text as a filter of a tracepoint, so that a
// filter that neither the kernel nor ppscript understands is an error before anything is attached.
// It implements the language of the newest kernels (Documentation/trace/events.rst,
// kernel/trace/trace_events_filter.c). An older kernel may still refuse a filter, but no filter is
// refused here that some kernel accepts.

// KernelTakes reports that a kernel can accept src as the filter of events of a
// schema.
func KernelTakes(src string, s *event.Schema) bool {
	p := filterText{rest: src, schema: s}
	return p.either() && p.skip() == ""
}

// filterText is the rest of a filter, which is parsed from its begin.
type filterText struct {
	rest   string
	schema *event.Schema
}

// skip removes leading blanks, and returns the rest.
func (p *filterText) skip() string {
	p.rest = strings.TrimLeft(p.rest, " \t\n\r")
	return p.rest
}

// take removes a token if it comes next, and reports whether it did.
func (p *filterText) take(token string) bool {
	rest, ok := strings.CutPrefix(p.skip(), token)
	if ok {
		p.rest = rest
	}
	return ok
}

// while removes and returns the leading characters for which a function is
// true.
func (p *filterText) while(of func(c byte) bool) string {
	text, n := p.skip(), 0
	for n < len(text) && of(text[n]) {
		n++
	}
	p.rest = text[n:]
	return text[:n]
}

func (p *filterText) either() bool {
	ok := p.both()
	for ok && p.take("||") {
		ok = p.both()
	}
	return ok
}

func (p *filterText) both() bool {
	ok := p.one()
	for ok && p.take("&&") {
		ok = p.one()
	}
	return ok
}

func (p *filterText) one() bool {
	switch {
	case p.take("!"):
		return p.one()
	case p.take("("):
		return p.either() && p.take(")")
	}
	return p.predicate()
}

func inName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// filterOps are the relations; a longer one comes before its prefix.
var filterOps = []string{"==", "!=", "<=", ">=", "<", ">", "&", "~"}

// ownNames are the names that a filter can have in addition to the fields of
// the record.
var ownNames = []string{"CPU", "cpu", "COMM", "comm", "stacktrace", "common_cpu", "common_comm"}

// predicate parses NAME OP VALUE like parse_pred of the kernel.
func (p *filterText) predicate() bool {
	name := p.while(inName)
	function := p.take(".function")
	user := !function && p.take(".ustring")
	f, own := p.schema.Field(name)
	own = own && (f.Place != event.InMember)
	if name == "" || !own && !slices.Contains(ownNames, name) {
		return false
	}
	at := slices.IndexFunc(filterOps, p.take)
	if at < 0 {
		return false
	}
	op := filterOps[at]
	text := op == "==" || op == "!=" || op == "~"
	switch {
	case p.take("CPUS{"):
		p.while(func(c byte) bool { return c != '}' })
		return p.take("}") && op != "~"
	case p.take(`"`):
		return p.quoted('"') && text && (user || !own || f.Kind != event.Int)
	case p.take("'"):
		return p.quoted('\'') && text && (user || !own || f.Kind != event.Int)
	case function:
		return p.while(func(c byte) bool { return inName(c) || c == '.' }) != "" && text
	}
	minus := p.take("-")
	digits := p.while(inName)
	if minus {
		digits = "-" + digits
	}
	return inBase0(digits) && op != "~" && !(own && f.Kind == event.Str)
}

// quoted parses the rest of a text in quotes, which has no escapes.
func (p *filterText) quoted(quote byte) bool {
	end := strings.IndexByte(p.rest, quote)
	if end >= 0 {
		p.rest = p.rest[end+1:]
	}
	return end >= 0
}

// inBase0 reports that a text is a number for the kernel's kstrtoull and kstrtoll
// with base 0.
func inBase0(text string) bool {
	if _, err := strconv.ParseUint(text, 0, 64); err == nil {
		return !strings.Contains(text, "_")
	}
	_, err := strconv.ParseInt(text, 0, 64)
	return err == nil && !strings.Contains(text, "_")
}
