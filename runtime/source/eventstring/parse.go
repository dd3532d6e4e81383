package eventstring

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// attrNames has the attributes of event strings; the value is true if the attribute
// needs a value.
var attrNames = map[string]bool{
	"alias": true, "key": true, "comm": true, "top-by": true, "top-add": true,
	"num": true, "stack": false, "max-stack": true, "cpus": true, "exec": true,
	"printkey": true, "ptr": true, "size": true, "role": true, "untraced": false,
	"period": true, "freq": true, "trigger": false, "push": true, "pull": true, "vm": true, "index": true,
}

// TakesValue reports whether an attribute needs a value, and whether the
// attribute exists.
func TakesValue(name string) (value, known bool) {
	value, known = attrNames[name]
	return value, known
}

// Parse parses a list of events. parseCPUs parses the lists of CPUs, so that
// this package does not need the CPUs of the machine.
func Parse(text string, parseCPUs func(string) ([]int, error)) ([]*plan.Source, error) {
	p := &parser{text: text, parseCPUs: parseCPUs}
	var list []*plan.Source
	for {
		s, err := p.event()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		if p.pos == len(p.text) {
			return list, nil
		}
		p.pos++ // the comma
	}
}

// WithFilter adds a filter to the last event of a list.
func WithFilter(text, filter string, parseCPUs func(string) ([]int, error)) (string, error) {
	list, err := Parse(text, parseCPUs)
	if err != nil {
		return "", err
	}
	last := list[len(list)-1]
	if last.Kind == eventspec.Script {
		return "", diag.Errorf(diag.Usage, "filter", last.Name, "it is no event, and has options instead").
			WithHint("give them between the slashes: %s/--than 10ms/", last.Name)
	}
	p := &parser{text: text, parseCPUs: parseCPUs}
	for range list {
		if _, err := p.event(); err != nil {
			return "", err
		}
		p.pos++
	}
	before, behind := text[:p.filterBegin], text[p.filterEnd:]
	switch old := text[p.filterBegin:p.filterEnd]; {
	case p.filterBegin == p.filterEnd && !strings.HasPrefix(behind, "/"):
		return before + "/" + filter + "/" + behind, nil
	case strings.TrimSpace(unquote(old)) == "":
		return before + filter + behind, nil
	default:
		return before + "(" + unquote(strings.TrimSpace(old)) + ") && (" + filter + ")" + behind, nil
	}
}

type parser struct {
	text      string
	pos       int
	parseCPUs func(string) ([]int, error)
	// Offsets of the last event's filter, or of where it would be.
	filterBegin, filterEnd int
}

// fail makes an error whose excerpt shows the event string with a mark below the byte
// at index at.
func (p *parser) fail(at int, format string, args ...any) *diag.Error {
	e := diag.Errorf(diag.Usage, "event", strconv.Quote(p.text), format, args...)
	e.Excerpt = "    " + plain.Masked(p.text) + "\n    " +
		strings.Repeat(" ", len([]rune(p.text[:min(at, len(p.text))]))) + "^"
	return e.WithHint(
		"write an event as sys:name/filter/attr=value/attr/, for example sched:sched_wakeup/pid>0/key=pid/")
}

func (p *parser) event() (*plan.Source, error) {
	start := p.pos
	s := &plan.Source{Spec: eventspec.Spec{Kind: eventspec.Tracepoint, Pos: p.text}}
	end, err := asBreakpoint(s, p.text[p.pos:])
	if err != nil {
		return nil, err
	}
	p.pos += end
	name, err := p.until("/,")
	if err != nil {
		return nil, err
	}
	name, modifiers := cutModifiers(p.text[start:start+end] + strings.TrimSpace(name))
	sys, ev, ok := strings.Cut(name, ":")
	isProbe, fault := asProbe(s, sys, ev, p.text[p.pos:])
	switch {
	case end > 0 && name == p.text[start:start+end]:
	case name == "":
		return nil, p.fail(start, "an event name is missing")
	case !ok:
		if !alone(s, sys) && !profiler(s, sys) {
			return nil, p.fail(start, "%q is not an event; want system:name", sys)
		}
	case fault != "":
		return nil, p.fail(start, "%s", fault)
	case isProbe:
	case sys == "bpf" && profiler(s, "bpf-"+ev): // no system of tracepoints has this name
	case sys == "software", sys == "hardware", sys == "cache", sys == "tool":
		s.Kind, s.Name = kindOf(sys), ev
	case sys == "" || ev == "" || strings.ContainsAny(ev, ": "):
		return nil, p.fail(start, "%q is not an event; want system:name", name)
	default:
		s.System, s.Name = sys, ev
	}
	p.filterBegin, p.filterEnd = p.pos, p.pos
	if p.pos == len(p.text) || p.text[p.pos] == ',' {
		return s, p.modify(s, start, modifiers)
	}
	p.pos++ // the slash before the filter
	open := p.pos
	if s.Filter, err = p.until("/"); err != nil {
		return nil, err
	}
	if p.pos == len(p.text) {
		return nil, p.fail(open, "the filter does not end with '/'")
	}
	p.filterBegin, p.filterEnd = open, p.pos
	s.Filter = unquote(strings.TrimSpace(s.Filter))
	if s.Kind == eventspec.Software && strings.HasPrefix(s.Filter, "-") {
		profiler(s, sys) // page-faults/-g/: no filter begins like that
	}
	p.pos++
	if behind := p.modifiersBehind(); behind != "" && modifiers == "" {
		modifiers = strings.TrimPrefix(behind, ":")
		p.pos += len(behind)
	}
	for p.pos < len(p.text) && p.text[p.pos] != ',' {
		if err := p.attr(s); err != nil {
			return nil, err
		}
	}
	if len(s.Attr("vm")) > 0 && !s.Pulled() {
		return nil, p.fail(start, "vm= maps the CPUs of a guest to threads of this host: it needs pull=")
	}
	return s, p.modify(s, start, modifiers)
}

func kindOf(sys string) eventspec.Kind {
	switch sys {
	case "software":
		return eventspec.Software
	case "hardware":
		return eventspec.Hardware
	case "tool":
		return eventspec.Tool
	}
	return eventspec.Cache
}

// alone recognizes events that are written without a system, like in perf: software events,
// counters and caches of the CPU, and raw numbers (r01c2).
func alone(s *plan.Source, name string) bool {
	if _, err := perf.SoftwareSchema(name); err == nil {
		s.Kind, s.Name = eventspec.Software, name
		return true
	}
	if _, err := perf.HardwareSchema(name); err == nil {
		s.Kind, s.Name = eventspec.Hardware, name
		return true
	}
	if _, err := perf.CacheSchema(name); err == nil {
		s.Kind, s.Name = eventspec.Cache, name
		return true
	}
	if slices.Contains(eventspec.ToolNames, name) {
		s.Kind, s.Name = eventspec.Tool, name
		return true
	}
	digits, raw := strings.CutPrefix(name, "r")
	config, err := strconv.ParseUint(digits, 16, 64)
	if !raw || err != nil {
		return false
	}
	s.Kind, s.Name = eventspec.RawPMU, fmt.Sprintf("cpu/%#x", config)
	s.PMU = &eventspec.PMU{Device: "cpu", Config: [3]uint64{config}}
	return true
}

// profiler sets s to the profiler with this name; false if the word cannot be
// such a name.
func profiler(s *plan.Source, word string) bool {
	for _, c := range word {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	s.Kind, s.Name = eventspec.Script, strings.ReplaceAll(word, "_", "-")
	return true
}

// attr parses one attribute and the slash after it.
func (p *parser) attr(s *plan.Source) error {
	start := p.pos
	text, err := p.until("/,")
	if err != nil {
		return err
	}
	if p.pos == len(p.text) || p.text[p.pos] != '/' {
		return p.fail(start, "the attribute %q does not end with '/'", text)
	}
	p.pos++
	if strings.TrimSpace(text) == "" {
		return nil
	}
	name, value, hasValue := strings.Cut(text, "=")
	name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
	wants, known := attrNames[name]
	switch {
	case !known:
		names := make([]string, 0, len(attrNames))
		for n := range attrNames {
			names = append(names, n)
		}
		return p.fail(start, "unknown attribute %q%s", name, diag.DidYouMean(name, names))
	case wants && strings.TrimSpace(value) == "":
		return p.fail(start, "attribute %s needs a value: %s=...", name, name)
	case !wants && hasValue:
		return p.fail(start, "attribute %s takes no value", name)
	}
	value = unquote(strings.TrimSpace(value))
	switch name {
	case "alias":
		s.Alias = value
	case "stack":
		s.Stack = true
	case "max-stack":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 127 {
			return p.fail(start, "max-stack: got %s, want 1 to 127", value)
		}
		s.Stack, s.MaxStack = true, n
	case "period", "freq":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 || s.Period > 0 || s.Freq > 0 {
			return p.fail(start, "%s: got %s, want one number of at least 1, of period or of freq", name, value)
		}
		if s.Period = uint64(n); name == "freq" {
			s.Period, s.Freq = 0, uint64(n)
		}
	case "cpus":
		cpus, err := p.parseCPUs(value)
		if err != nil {
			return p.fail(start, "cpus: %v", err)
		}
		s.CPUs = cpus
	}
	s.Attrs = append(s.Attrs, eventspec.Attr{Name: name, Value: value})
	return nil
}

// until returns the text up to one of the stops, or to the end, and leaves
// pos there. Stops inside quotes and parentheses do not count.
func (p *parser) until(stops string) (string, error) {
	start, depth := p.pos, 0
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '"' || c == '\'':
			open := p.pos
			if !p.skipQuoted(c) {
				return "", p.fail(open, "the quote does not end")
			}
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0 && strings.IndexByte(stops, c) >= 0:
			return p.text[start:p.pos], nil
		}
	}
	if depth > 0 {
		return "", p.fail(start, "a parenthesis does not close")
	}
	return p.text[start:], nil
}

// skipQuoted moves pos from an opening quote to the closing one. Quotes may be
// nested, as in exec="printf("%d", pid)"/: a quote that begins the value of an
// attribute ends where a slash follows.
func (p *parser) skipQuoted(quote byte) bool {
	start := strings.LastIndexAny(p.text[:p.pos], "/,") + 1
	enclosing := strings.HasSuffix(p.text[start:p.pos], "=") && attrName(p.text[start:p.pos-1])
	for i := p.pos + 1; i < len(p.text); i++ {
		switch {
		case p.text[i] == '\\':
			i++
		case p.text[i] != quote:
		case !enclosing || i+1 == len(p.text) || p.text[i+1] == '/':
			p.pos = i
			return true
		}
	}
	return false
}

func attrName(s string) bool {
	_, ok := attrNames[strings.ReplaceAll(strings.TrimSpace(s), "_", "-")]
	return ok
}

// unquote removes one pair of quotes around s. "a"=="b" is not quoted: the
// quotes at its ends belong to two texts.
func unquote(s string) string {
	n := len(s)
	if n < 2 || s[0] != '"' && s[0] != '\'' || s[n-1] != s[0] {
		return s
	}
	inner := s[1 : n-1]
	if i := strings.IndexByte(inner, s[0]); i >= 0 {
		rest := strings.TrimLeft(inner[i+1:], " ")
		for _, op := range []string{"==", "!=", "~", "&&", "||"} {
			if strings.HasPrefix(rest, op) {
				return s
			}
		}
	}
	return inner
}
