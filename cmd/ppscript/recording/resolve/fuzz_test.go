package resolve

import (
	"encoding/json"
	"testing"
)

// Results of elsewhere are rewritten to what is JSON as well, or refused.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(`{"v":1,"data":{"stack":[{"addr":"0x1","file_offset":16,"dso":"/x","build_id":"ab"},` +
		`{"addr":"0x2","symbol":"main","offset":3}],"n":[1,[2,{"file_offset":null}]]}}`))
	f.Add([]byte(`[{"file_offset":1}]`))
	f.Add([]byte(`{"file_offset":1,"file_offset":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		named := 0
		out, err := rewrite(nil, text, func(f, inner *frame) []frame {
			named++
			return []frame{{Addr: f.Addr, Symbol: "named", Inline: true}, *f}
		}, 0)
		if err == nil && !json.Valid(out) {
			t.Errorf("%q became %q, which is no JSON (%d frames)", text, out, named)
		}
		if err == nil && named == 0 {
			var before, after any
			if json.Unmarshal(text, &before) == nil && json.Unmarshal(out, &after) != nil {
				t.Errorf("%q became %q", text, out)
			}
		}
	})
}
