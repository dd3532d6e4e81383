package prompt

import (
	"regexp"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
)

// This file completes members of what lies in the kernel's memory, by the kernel's
// types: task().real_parent.co, and in texts task()->real_parent->co.

// kernelPath is what a chain of members begins with, the members, and the one that
// is typed.
var kernelPath = regexp.MustCompile(
	`(task\(\)|cgroup\(\)|per_cpu\(["'](\w+)["']\)|cast\([^()]*,\s*["']([^"']+)["']\)|\b[a-zA-Z_]\w*)` +
		`((?:(?:\.|->)\w+|\[\w+\])*)(?:\.|->)(\w*)$`)

var kernelStep = regexp.MustCompile(`\w+`)

// kernelMembers are the members that may go on a text, and what is typed of one; ok
// is false if the text does not end in the kernel's memory.
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

// kernelBegin is the type with which a chain begins, and the members behind it.
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
	default: // a field of the event: e.page in lambdas, page in texts
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

// Field is a field of one of the events that a text, or else the text around it, names;
// nil if none has it.
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

// pointed is what a pointer or an array is of, or the type itself.
func pointed(t kerneltype.Type) kerneltype.Type {
	for t.Kind() == kerneltype.Pointer || t.Kind() == kerneltype.Array {
		t = t.Elem()
	}
	return t
}

// memberType is the type of a member, or of an element.
func memberType(t kerneltype.Type, step string) (kerneltype.Type, bool) {
	if step[0] >= '0' && step[0] <= '9' {
		return t.Elem(), true
	}
	m, err := pointed(t).Member(step)
	return m.Type, err == nil
}
