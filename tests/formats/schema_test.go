package formats

import (
	"bytes"
	"strings"
	"testing"

	"ppscript/docs"
	"ppscript/docs/schema"
)

// docs/schema.json equals the schema that is generated from the page.
func TestSchemaIsOfThePage(t *testing.T) {
	want, err := schema.Of(docs.Formats)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(docs.Schema, want) {
		t.Error("docs/schema.json is not of docs/formats.md: make generate")
	}
}

// The schema refuses records that break the promises of version 1, and accepts additions
// that version 1 allows.
func TestSchemaFinds(t *testing.T) {
	f := Read(t)
	whole := `{"v":1,"type":"table","data":{"name":"t","seq":0,"final":true,"begin":0,"end":0,"samples":0,"total_samples":0,` +
		`"loss":{"lost":1},"columns":[{"name":"n","kind":"value"}],"rows":[{"n":18446744073709551615,"n_text":"x"}]}}`
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"v":1`, `"v":2`, "/v"},
		{`"final":true`, `"final":1`, "/data/final"},
		{`"seq":0,`, ``, "seq"},
		{`"begin":0`, `"begin":0.5`, "/data/begin"},
		{`"lost":1`, `"lost":"1"`, "/data/loss/lost"},
		{`"kind":"value"`, `"kind":7`, "/data/columns/0/kind"},
		{`"n_text":"x"`, `"n_text":{}`, "/data/rows/0/n_text"},
		{`"seq":0,`, `"seq":0,"new":{"x":1},`, ""},    // a new member, which is allowed
		{`"type":"table"`, `"type":"graph"`, ""},      // a kind of record
		{`"loss":{"lost":1}`, `"loss":{"odd":2}`, ""}, // a kind of loss
		{`"data":{`, `"more":1,"data":{`, ""},         // a new member beside data
		{`"final":true,`, `"final":true,"wall":1,`, "/data/wall"},
	} {
		line := strings.Replace(whole, c.from, c.to, 1)
		got := f.valid(line)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.to, got, c.want)
		}
	}
	for name, line := range map[string]string{
		"bucket": `{"v":1,"type":"histogram","data":{"rows":[{"key":{},"count":1,"buckets":[[null,4,-1]]}]}}`,
		"frame":  `{"v":1,"type":"event","data":{"stack":[{"addr":1}]}}`,
		"more":   `{"v":1,"type":"perfeval","data":{"cycles":"many"}}`,
		"named":  `{"v":1,"type":"event","data":{"start_stack":7}}`,
	} {
		if f.valid(line) == "" {
			t.Errorf("%s: got no error", name)
		}
	}
}
