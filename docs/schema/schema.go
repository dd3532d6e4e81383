// Package schema makes the JSON Schema of the output of --format json from the
// tables of docs/formats.md, which are the contract. Because docs/schema.json is
// generated from that page, the two cannot differ.
//
// docs/gen calls it; the program embeds the result, in package docs. The schema
// accepts members and types of records that it does not have, because version 1
// may still get new ones; so readers that validate go on working.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A node is a part of a schema.
type node = map[string]any

// Of returns the schema of the records that a page describes.
func Of(page string) ([]byte, error) {
	objects, err := read(page)
	if err != nil {
		return nil, err
	}
	defs := node{
		"row": node{
			"description":          "a member for each column, and NAME_text where text shows another form",
			"type":                 "object",
			"additionalProperties": value(),
		},
		"bucket": node{
			"description": "[lo, hi, count] of the values v with lo <= v < hi; null is an open bound",
			"type":        "array",
			"prefixItems": []any{bound(), bound(), node{"type": "integer", "minimum": 0}},
			"minItems":    3,
			"maxItems":    3,
		},
	}
	var kinds []any
	for _, o := range objects {
		def, err := o.schema()
		if err != nil {
			return nil, err
		}
		defs[o.def()] = def
		if o.record {
			kinds = append(kinds, node{
				"if":   node{"properties": node{"type": node{"const": o.name}}},
				"then": node{"properties": node{"data": reference(o.def())}},
			})
		}
	}
	if missing := dangling(defs); missing != "" {
		return nil, fmt.Errorf("%s is no type and has no table", missing)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err = e.Encode(node{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"$id":         "urn:ppscript:json:v1",
		"title":       "A line of ppscript --format json, version 1",
		"description": "docs/json.md says what stays as it is. Members and kinds of records that are not here may come.",
		"type":        "object",
		"required":    []any{"v", "type", "data"},
		"properties": node{
			"v": node{"const": 1}, "type": node{"type": "string"}, "data": node{"type": "object"},
		},
		"allOf": kinds,
		"$defs": defs,
	})
	return b.Bytes(), err
}

func reference(def string) node { return node{"$ref": "#/$defs/" + def} }

// bound returns the schema of a bound of a bucket, which may be open.
func bound() node { return node{"type": []any{"integer", "null"}} }

// value returns the schema of a cell or a field.
func value() node {
	return node{"type": []any{"integer", "number", "string", "boolean", "null", "array"}}
}

// An object is one table of the page.
type object struct {
	name    string
	record  bool
	base    string // name of the object whose members it has too, "" for none
	members []member
}

// A member is one line of a table.
type member struct{ name, kind, when, meaning string }

// def returns the object's name among the definitions.
func (o *object) def() string {
	name := strings.ReplaceAll(o.name, " ", "_")
	if o.record {
		return "record_" + name
	}
	return name
}

func (o *object) schema() (node, error) {
	properties, patterns := node{}, node{}
	var required []any
	def := node{"type": "object"}
	for _, m := range o.members {
		of, err := typeOf(m.kind)
		if err != nil {
			return nil, fmt.Errorf("%s: member %s: %w", o.name, m.name, err)
		}
		if m.meaning != "" {
			of["description"] = m.meaning
		}
		if m.when == "always" {
			required = append(required, m.name)
		} else if m.when != "" {
			of["$comment"] = "when: " + m.when
		}
		before, after, any := strings.Cut(m.name, "NAME")
		switch {
		case !any:
			properties[m.name] = of
		case before+after == "":
			def["additionalProperties"] = of
		default:
			patterns["^"+before+".+"+after+"$"] = of
		}
	}
	def["properties"] = properties
	if len(patterns) > 0 {
		def["patternProperties"] = patterns
	}
	if len(required) > 0 {
		def["required"] = required
	}
	if o.base != "" {
		def["allOf"] = []any{reference(o.base)}
	}
	return def, nil
}

// typeOf returns the schema of a type, by its name on the page.
func typeOf(kind string) (node, error) {
	if of, ok := strings.CutPrefix(kind, "list of "); ok {
		items, err := typeOf(of)
		return node{"type": "array", "items": items}, err
	}
	if of, ok := strings.CutPrefix(kind, "map of "); ok {
		values, err := typeOf(of)
		return node{"type": "object", "additionalProperties": values}, err
	}
	switch kind {
	case "integer", "number":
		return node{"type": kind}, nil
	case "text":
		return node{"type": "string"}, nil
	case "bool":
		return node{"type": "boolean"}, nil
	case "date":
		return node{"type": "string", "format": "date-time"}, nil
	case "value":
		return value(), nil
	case "":
		return nil, fmt.Errorf("it has no type")
	}
	return reference(strings.ReplaceAll(kind, " ", "_")), nil
}

// read reads the tables of the page's part about JSON: a heading of the third level
// names an object, or a record if it begins with the word "record".
func read(page string) (objects []*object, err error) {
	var at *object
	inside := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			inside, at = line == "## JSON", nil
		case !inside:
		case strings.HasPrefix(line, "### "):
			name, record := strings.CutPrefix(strings.TrimPrefix(line, "### "), "record ")
			at = &object{name: name, record: record}
			objects = append(objects, at)
		case at != nil && line == "A result, and":
			at.base = "result"
		case at != nil && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| member "):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if len(cells) != 4 {
				return nil, fmt.Errorf("%s: got %d cells in %q, want 4", at.name, len(cells), line)
			}
			for i := range cells {
				cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
			}
			at.members = append(at.members, member{cells[0], cells[1], cells[2], cells[3]})
		}
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("the page has no tables below ## JSON")
	}
	return objects, nil
}

// dangling returns a name that is used but not defined; "" if there is none.
func dangling(defs node) string {
	var missing []string
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case node:
			if to, ok := v["$ref"].(string); ok {
				if name := strings.TrimPrefix(to, "#/$defs/"); defs[name] == nil {
					missing = append(missing, name)
				}
			}
			for _, m := range v {
				look(m)
			}
		case []any:
			for _, m := range v {
				look(m)
			}
		}
	}
	look(defs)
	slices.Sort(missing)
	return strings.Join(slices.Compact(missing), ", ")
}
