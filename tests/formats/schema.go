package formats

import (
	"bytes"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ppscript/docs"
)

// This file validates JSON against docs/schema.json with a general library, as
// other readers of the output do.

// compiled returns the compiled schema, which also checks formats such as
// date-time.
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

// valid returns the reason why a line does not fit the schema; "" if it fits.
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
