package compare

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzRecords checks that files to compare come from anywhere: they are read, or refused, and each
// change that is told has a name.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"v":1,"type":"table","data":{"name":"t","seq":1,"begin":0,"end":1000000000,` +
		`"loss":{"lost":3},` +
		`"columns":[{"name":"k","kind":"key"},{"name":"n","kind":"value","merging":"added"}],` +
		`"rows":[{"k":"a","n":5},{"k":null,"n":1e300}]}}` + "\n" +
		`{"v":1,"type":"table","data":{"name":"t","seq":2,"begin":1000000000,"end":2000000000,` +
		`"columns":[{"name":"n","kind":"value","merging":"mean"}],"rows":[{"n":-7}]}}`))
	f.Add([]byte(`{"v":1,"type":"hist","data":{"name":"h","seq":1,"begin":5,"end":9,"unit":"ns",` +
		`"rows":[{"key":{"a":1},"count":3,"buckets":[[0,1,3],[null,4,5],[1,null,2]]}]}}`))
	f.Add([]byte(`{"v":1,"type":"stacks","data":{"name":"s","seq":1,"begin":5,"end":99,"value":"period",` +
		`"total_count":9,"total_value":90,"stacks":[{"count":9,"value":90,"stack":[{"symbol":"f","dso":"/x"}]}]}}`))
	f.Add([]byte(`{"v":1,"type":"event","data":{"name":"e","time":7,"comm":"c","stack":[{"symbol":"g"}]}}` +
		"\nnoise\n" +
		`{"v":1,"type":"loss","data":{"lost":18446744073709551615}}` + "\n" +
		`{"v":1,"type":"end","data":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Count(text, []byte(`{"v":`)) > 50 {
			t.Skip("as slow as large files are")
		}
		c := New("before", "after")
		before := c.Records(0, "a").Read(bytes.NewReader(text))
		after := c.Records(1, "b").Read(strings.NewReader(`{"v":1,"type":"table","data":{` +
			`"name":"t","seq":1,"begin":0,"end":1000000000,"columns":[{"name":"n","kind":"value","merging":"added"}],` +
			`"rows":[{"n":5}]}}`))
		if after != nil {
			t.Fatal(after)
		}
		if before != nil {
			return
		}
		checkReport(t, c)
	})
}

func FuzzParts(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("ppscript"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := New("before", "after")
		if c.Parts(0, bytes.NewReader(text)) != nil || c.Parts(1, bytes.NewReader(text)) != nil {
			return
		}
		checkReport(t, c)
	})
}

func checkReport(t *testing.T, c *Comparison) {
	t.Helper()
	r := c.Report()
	for i := range r.Changes {
		if r.Changes[i].Result == "" && r.Changes[i].Row == "" && r.Changes[i].Column == "" {
			t.Errorf("got a change of nothing: %+v", r.Changes[i])
		}
	}
	_, _ = r.Verdict(), r.Head()
}
