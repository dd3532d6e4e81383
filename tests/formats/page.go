package formats

import (
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ppscript/docs"
)

// This file reads docs/formats.md: a heading of the third level names an object,
// or a record if it begins with the word "record"; the table below it has a line
// for each member.

// A Format is the content of the page.
type Format struct {
	objects map[string]*object // "event", "record event"
	schema  *jsonschema.Schema // of docs/schema.json
}

// An object is one table of the page.
type object struct {
	members []member
	base    string // "result": it has the members of that object too
}

// A member is one line of a table.
type member struct {
	name   string
	any    *regexp.Regexp // matches the names that NAME stands for; nil if there is no NAME
	kind   string
	always bool
}

// Read reads the page.
func Read(t testing.TB) *Format {
	t.Helper()
	f := parse(docs.Formats) // embedded, because guests have no source tree
	if f.objects["record table"] == nil || f.objects["column"] == nil {
		t.Fatalf("docs/formats.md: got %d objects without table and column", len(f.objects))
	}
	var err error
	if f.schema, err = compiled(); err != nil {
		t.Fatalf("docs/schema.json: %v", err)
	}
	return f
}

func parse(page string) *Format {
	f := &Format{objects: map[string]*object{}}
	var at *object
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "### "):
			at = &object{}
			f.objects[strings.TrimPrefix(line, "### ")] = at
		case strings.HasPrefix(line, "## "):
			at = nil
		case at != nil && line == "A result, and":
			at.base = "result"
		case at != nil && strings.HasPrefix(line, "| "):
			if cells := strings.Split(strings.Trim(line, "|"), "|"); len(cells) >= 4 &&
				strings.TrimSpace(cells[0]) != "member" {
				at.members = append(at.members, memberOf(cells))
			}
		}
	}
	return f
}

func memberOf(cells []string) member {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	m := member{name: cells[0], kind: cells[1], always: cells[2] == "always"}
	if strings.Contains(m.name, "NAME") {
		m.any = regexp.MustCompile("^" + strings.Replace(regexp.QuoteMeta(m.name), "NAME", ".+", 1) + "$")
	}
	return m
}

// membersOf returns all members of an object.
func (f *Format) membersOf(o *object) []member {
	if o.base == "" {
		return o.members
	}
	return append(append([]member(nil), f.objects[o.base].members...), o.members...)
}
