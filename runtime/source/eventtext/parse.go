package eventtext

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// Bounds on the sizes and numbers in a text.
const (
	maxText   = 4096 // bytes of one text, members of one array
	maxFields = 64
	maxRaw    = 16 << 10 // bytes of the fields, without dynamic texts
	maxCPU    = 8191
)

// A field is one declared field. For an array, size is the size of an element.
type field struct {
	name    string
	typ     string // as declared
	offset  int
	size    int
	count   int // elements of an array; 1 for other fields
	signed  bool
	text    bool
	dynamic bool // a text of variable length, after the fields
}

type schema struct {
	system, name string
	fields       []field
	size         int // size of the raw data before the dynamic texts
}

// An entry is one line: a sample of schema, or events lost.
type entry struct {
	time     int64
	cpu      int32
	pid, tid int32
	comm     string
	schema   int // -1 for lost
	lost     uint64
	raw      []byte
}

type capture struct {
	schemas []*schema
	entries []entry
}

// headerBytes are the common fields of every tracepoint.
const headerBytes = 8

// parse reads a text. The error names the line.
func parse(r io.Reader) (*capture, error) {
	c := &capture{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		if err := c.line(in.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(c.schemas) == 0 {
		return nil, errors.New("no event is declared")
	}
	slices.SortStableFunc(c.entries, func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	return c, nil
}

func (c *capture) line(line string) error {
	words, err := split(line)
	switch {
	case err != nil:
		return err
	case len(words) == 0 || words[0][0] == '#':
		return nil
	case strings.Contains(words[0], ":"):
		return c.declare(words)
	}
	return c.add(words)
}

// split takes words apart; a quoted text is part of its word.
func split(line string) ([]string, error) {
	if !utf8.ValidString(line) || strings.ContainsRune(line, 0) {
		return nil, errors.New("not a text")
	}
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		if line == "" || line[0] == '#' && len(words) > 0 {
			return words, nil
		}
		i := 0
		for i < len(line) && !strings.ContainsRune(" \t\r", rune(line[i])) {
			if line[i] == '"' && i > 0 {
				q, err := strconv.QuotedPrefix(line[i:])
				if err != nil {
					return nil, fmt.Errorf("%s: a text without its end", line[i:])
				}
				i += len(q)
				continue
			}
			i++
		}
		words = append(words, line[:i])
		line = line[i:]
	}
}

func (c *capture) declare(words []string) error {
	system, name, _ := strings.Cut(words[0], ":")
	if !ident(system) || !ident(name) {
		return fmt.Errorf("got %s, want system:name", words[0])
	}
	for _, s := range c.schemas {
		if s.system == system && s.name == name {
			return fmt.Errorf("event %s is declared twice", words[0])
		}
	}
	if len(words) > maxFields {
		return fmt.Errorf("event %s: got %d fields, want at most %d", words[0], len(words)-1, maxFields)
	}
	s := &schema{system: system, name: name, size: headerBytes}
	for _, w := range words[1:] {
		f, err := parseField(w)
		if err != nil {
			return err
		}
		if _, dup := s.find(f.name); dup {
			return fmt.Errorf("field %s is declared twice", f.name)
		}
		s.size = (s.size + f.align() - 1) &^ (f.align() - 1)
		f.offset = s.size
		s.size += f.size * f.count
		s.fields = append(s.fields, f)
	}
	if s.size > maxRaw {
		return fmt.Errorf("event %s: larger than %d bytes", words[0], maxRaw)
	}
	c.schemas = append(c.schemas, s)
	return nil
}

func ident(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func (f *field) align() int {
	if f.text && !f.dynamic {
		return 1
	}
	return f.size
}

func (s *schema) find(name string) (*field, bool) {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i], true
		}
	}
	return nil, false
}

func parseField(word string) (field, error) {
	name, typ, ok := strings.Cut(word, ":")
	f := field{name: name, typ: typ, count: 1}
	bad := fmt.Errorf(
		"field %s: got type %q, want s8 to s64, u8 to u64, ns, str, strN or dstr, or an array such as u64[6]",
		name, typ)
	if !ident(name) || strings.HasPrefix(name, "common_") {
		return f, fmt.Errorf("got %s, want name:type", word)
	}
	if !ok {
		return f, bad
	}
	base, array, isArray := strings.Cut(strings.TrimSuffix(typ, "]"), "[")
	if isArray {
		n, err := strconv.Atoi(array)
		if err != nil || n < 1 || n > maxText || !strings.HasSuffix(typ, "]") {
			return f, bad
		}
		f.count = n
	}
	switch {
	case base == "dstr" && !isArray:
		f.text, f.dynamic, f.size = true, true, 4
	case strings.HasPrefix(base, "str") && !isArray:
		f.text, f.size = true, 16
		if n := base[3:]; n != "" {
			var err error
			if f.size, err = strconv.Atoi(n); err != nil || f.size < 1 || f.size > maxText {
				return f, bad
			}
		}
	case base == "ns":
		f.size, f.signed = 8, true
	case base == "s8", base == "s16", base == "s32", base == "s64", base == "u8", base == "u16",
		base == "u32", base == "u64":
		bits, _ := strconv.Atoi(base[1:])
		f.size, f.signed = bits/8, base[0] == 's'
	default:
		return f, bad
	}
	return f, nil
}

func (c *capture) add(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("got %d words, want time, cpu, thread", len(words))
	}
	at, err := unit.ParseDuration(words[0], 1)
	if err != nil {
		return err
	}
	if at < 0 {
		return fmt.Errorf("time: got %s, want 0 or more", words[0])
	}
	cpu, err := strconv.Atoi(words[1])
	if err != nil || cpu < 0 || cpu > maxCPU {
		return fmt.Errorf("cpu: got %s, want a number up to %d", words[1], maxCPU)
	}
	e := entry{time: at, cpu: int32(cpu), schema: -1}
	if words[2] == "lost" {
		if len(words) != 4 {
			return errors.New("write: TIME CPU lost NUMBER")
		}
		if e.lost, err = strconv.ParseUint(words[3], 10, 32); err != nil {
			return fmt.Errorf("lost: got %s, want a number", words[3])
		}
		c.entries = append(c.entries, e)
		return nil
	}
	if err := e.thread(words[2]); err != nil {
		return err
	}
	words = words[3:]
	if e.schema, words, err = c.which(words); err != nil {
		return err
	}
	s := c.schemas[e.schema]
	e.raw = s.blank(e.schema+1, e.tid)
	for _, w := range words {
		if e.raw, err = s.set(e.raw, w); err != nil {
			return err
		}
	}
	c.entries = append(c.entries, e)
	return nil
}

// thread reads TID, COMM/TID or COMM/PID/TID. A comm may have slashes itself.
func (e *entry) thread(word string) error {
	parts := strings.Split(word, "/")
	number := func(s string) (int32, bool) {
		n, err := strconv.ParseInt(s, 10, 32)
		return int32(n), err == nil && n >= -1
	}
	tid, ok := number(parts[len(parts)-1])
	if !ok {
		return fmt.Errorf("thread: got %s, want TID, COMM/TID or COMM/PID/TID", word)
	}
	e.pid, e.tid = tid, tid
	parts = parts[:len(parts)-1]
	if n := len(parts); n > 1 {
		if pid, ok := number(parts[n-1]); ok {
			e.pid, parts = pid, parts[:n-1]
		}
	}
	e.comm = strings.Join(parts, "/")
	if u, err := strconv.Unquote(e.comm); err == nil {
		e.comm = u
	}
	if len(e.comm) > 15 {
		return fmt.Errorf("comm %s: longer than 15 bytes", e.comm)
	}
	return nil
}

// which finds the schema of a line's event, by index, and returns the words
// after the name.
func (c *capture) which(words []string) (int, []string, error) {
	if len(words) == 0 || strings.Contains(words[0], "=") {
		if len(c.schemas) != 1 {
			return 0, nil, fmt.Errorf("%d events are declared: name one", len(c.schemas))
		}
		return 0, words, nil
	}
	found, names := -1, []string{}
	for i, s := range c.schemas {
		names = append(names, s.name)
		if s.name == words[0] || s.system+":"+s.name == words[0] {
			if found >= 0 {
				return 0, nil, fmt.Errorf("event %s is declared in two systems: name one", words[0])
			}
			found = i
		}
	}
	if found < 0 {
		return 0, nil, fmt.Errorf("event %s is not declared%s", words[0], diag.DidYouMean(words[0], names))
	}
	return found, words[1:], nil
}
