package formats

import (
	"bytes"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ppscript/docs"
)

// This file validates JSON against docs/schema.json, by a library that knows
// nothing of us: readers elsewhere do the same.

// compiled is the schema. Formats such as date-time are asserted.
func compiled() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(docs.Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const name = "schema.json"
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// valid says why a line is no instance of the schema; "" if it is one.
func (f *Format) valid(line string) string {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err == nil {
		err = f.schema.Validate(v)
	}
	if err == nil {
		return ""
	}
	return "schema: " + strings.ReplaceAll(err.Error(), "\n", " ")
}
