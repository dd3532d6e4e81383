package formats

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// This file checks JSON.

// JSON returns the mistakes in the records of output. Lines that the workload
// prints are no records.
func (f *Format) JSON(output string) (wrong []string) {
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, `{"v":`) {
			continue
		}
		c := &checker{format: f}
		c.record(line)
		if why := f.valid(line); why != "" {
			c.failf("%s", why)
		}
		for _, w := range c.wrong {
			wrong = append(wrong, fmt.Sprintf("%.200s: %s", line, w))
		}
	}
	return wrong
}

// A checker collects the mistakes in one record.
type checker struct {
	format *Format
	wrong  []string
}

func (c *checker) failf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func decode(line string) (data map[string]any, kind string, err error) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var r struct {
		V    int
		Type string
		Data map[string]any
	}
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, "", err
	}
	if r.V != 1 {
		return nil, "", fmt.Errorf("got version %d, want 1", r.V)
	}
	return r.Data, r.Type, nil
}

func (c *checker) record(line string) {
	data, kind, err := decode(line)
	if err != nil {
		c.failf("%v", err)
		return
	}
	o := c.format.objects["record "+kind]
	if o == nil {
		c.failf("records of type %s are not documented", kind)
		return
	}
	c.object(kind, o, data)
	switch kind {
	case "table":
		rows, _ := data["rows"].([]any)
		c.rows(data["columns"], rows)
	case "histogram", "stacks":
		rows, _ := data[map[string]string{"histogram": "rows", "stacks": "stacks"}[kind]].([]any)
		var keys []any
		for _, r := range rows {
			if m, ok := r.(map[string]any); ok {
				keys = append(keys, m["key"])
			}
		}
		c.rows(data["keys"], keys)
	}
	for name := range asObject(data["units"]) {
		if _, ok := asObject(data["fields"])[name]; !ok {
			c.failf("units has %s, fields has not", name)
		}
	}
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// object checks members: those marked "always" exist, none is undocumented,
// each has its type.
func (c *checker) object(path string, o *object, data map[string]any) {
	members := c.format.membersOf(o)
	for _, m := range members {
		if _, ok := data[m.name]; !ok && m.always {
			c.failf("%s has no %s", path, m.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if i < 0 {
			i = slices.IndexFunc(members, func(m member) bool {
				return m.any != nil && m.any.MatchString(name)
			})
		}
		if i < 0 {
			c.failf("%s has %s, which is not documented", path, name)
			continue
		}
		c.value(path+"."+name, members[i].kind, data[name])
	}
}

func (c *checker) value(path, kind string, v any) {
	if of, ok := strings.CutPrefix(kind, "list of "); ok {
		list, ok := v.([]any)
		if !ok {
			c.failf("%s: got %v, want a list", path, v)
		}
		for _, m := range list {
			c.value(path, of, m)
		}
		return
	}
	if of, ok := strings.CutPrefix(kind, "map of "); ok {
		for name, m := range asObject(v) {
			c.value(path+"."+name, of, m)
		}
		if asObject(v) == nil {
			c.failf("%s: got %v, want an object", path, v)
		}
		return
	}
	if !c.checkKind(kind, path, v) {
		c.failf("%s: got %v, want %s", path, v, kind)
	}
}

// checkKind reports whether v has a simple type; if the type is an object, it
// checks the object.
func (c *checker) checkKind(kind, path string, v any) bool {
	number, isNumber := v.(json.Number)
	text, isText := v.(string)
	switch kind {
	case "integer":
		return isNumber && !strings.ContainsAny(number.String(), ".eE")
	case "number":
		return isNumber
	case "text":
		return isText
	case "bool":
		_, ok := v.(bool)
		return ok
	case "date":
		_, err := time.Parse(time.RFC3339Nano, text)
		return err == nil && strings.HasSuffix(text, "Z")
	case "value":
		return asObject(v) == nil
	case "row": // checked by the columns
		return asObject(v) != nil
	case "bucket":
		return isBucket(v)
	}
	o := c.format.objects[kind]
	if o == nil || asObject(v) == nil {
		return false
	}
	c.object(path, o, asObject(v))
	return true
}

// isBucket reports whether v is [lo, hi, count] with lo < hi.
func isBucket(v any) bool {
	b, ok := v.([]any)
	if !ok || len(b) != 3 {
		return false
	}
	n, ok := b[2].(json.Number)
	if !ok || strings.HasPrefix(n.String(), "-") {
		return false
	}
	lo, okLo := b[0].(json.Number)
	hi, okHi := b[1].(json.Number)
	if !okLo || !okHi {
		return (okLo || b[0] == nil) && (okHi || b[1] == nil)
	}
	l, _ := lo.Int64()
	h, _ := hi.Int64()
	return l < h
}
