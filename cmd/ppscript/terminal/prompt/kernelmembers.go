package prompt

import (
	"regexp"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
)

// This file completes members of kernel structures from the kernel's types (BTF):
// task().real_parent.co, and task()->real_parent->co in strings.

// kernelPath matches a chain of members: its beginning, the complete members, and
// the member that is being typed.
var kernelPath = regexp.MustCompile(
	`(task\(\)|cgroup\(\)|per_cpu\(["'](\w+)["']\)|cast\([^()]*,\s*["']([^"']+)["']\)|\b[a-zA-Z_]\w*)` +
		`((?:(?:\.|->)\w+|\[\w+\])*)(?:\.|->)(\w*)$`)

var kernelStep = regexp.MustCompile(`\w+`)

// kernelMembers returns the members that can continue the chain at the end of a
// text, and the part of the last one that is typed. ok is false if the text does
// not end in such a chain.
func (c *Completer) kernelMembers(text string) (list []string, have string, ok bool) {
	m := kernelPath.FindStringSubmatch(text)
	if m == nil {
		return nil, "", false
	}
	if c.types == nil {
		c.types = kerneltype.Running()
	}
	t, steps, ok := c.kernelBegin(text, m)
	if !ok {
		return nil, "", false
	}
	for _, step := range steps {
		if t, ok = memberType(t, step); !ok {
			return nil, "", false
		}
	}
	return pointed(t).Members(), m[5], true
}

// kernelBegin returns the type at the beginning of a chain that kernelPath
// matched as m, and the members after it.
func (c *Completer) kernelBegin(text string, m []string) (t kerneltype.Type, steps []string, ok bool) {
	steps = kernelStep.FindAllString(m[4], -1)
	var err error
	switch {
	case m[2] != "":
		t, _, err = c.types.PerCPU(m[2])
	case m[3] != "":
		t, err = c.types.Named(m[3])
	case m[1] == "task()":
		t, err = c.types.Named("struct task_struct")
	case m[1] == "cgroup()":
		t, err = c.types.Named("struct cgroup")
	default: // a field of the event: e.page in lambdas, page in strings
		name := m[1]
		if len(steps) > 0 && c.isEvent(text, name) {
			name, steps = steps[0], steps[1:]
		}
		f := c.Field(text, name)
		if f == nil || !strings.HasSuffix(f.Type, "*") {
			return t, nil, false
		}
		t, err = c.types.Named(f.Type)
	}
	return t, steps, err == nil
}

// Field returns a field by name of the events that a text names, or that the text
// around it names; nil if no event has it.
func (c *Completer) Field(text, name string) *event.Field {
	events := eventsIn(text)
	if events == nil {
		events = eventsIn(c.Around)
	}
	for _, ev := range events {
		schemas, err := c.Bench.Schemas(ev)
		if err != nil {
			continue
		}
		for _, s := range schemas {
			if f, ok := s.Field(name); ok {
				return f
			}
		}
	}
	return nil
}

// pointed returns the type behind all pointers and arrays of t, or t itself.
func pointed(t kerneltype.Type) kerneltype.Type {
	for t.Kind() == kerneltype.Pointer || t.Kind() == kerneltype.Array {
		t = t.Elem()
	}
	return t
}

// memberType returns the type of a member, or of an array's element if step is
// a number.
func memberType(t kerneltype.Type, step string) (kerneltype.Type, bool) {
	if step[0] >= '0' && step[0] <= '9' {
		return t.Elem(), true
	}
	m, err := pointed(t).Member(step)
	return m.Type, err == nil
}
