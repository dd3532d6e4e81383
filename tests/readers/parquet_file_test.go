package readers

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ppscript/tests/testkit"
)

// A parquetFile is the content of a file as hyparquet reads it; integers are texts,
// because they may have 64 bits.
type parquetFile struct {
	Groups int
	Notes  []struct{ Key, Value string }
	Schema []struct {
		Name, Type, Converted_type string
		Logical_type               *struct{ Type string }
	}
	// Bounds are the smallest and largest number of a column in each row group, if the
	// file has them.
	Bounds map[string][][2]string
	Rows   []map[string]any
}

const parquetScript = `
import { asyncBufferFromFile, parquetReadObjects, parquetMetadataAsync } from '%s/src/node.js'
import { compressors } from '%s/src/index.js'
const file = await asyncBufferFromFile(process.argv[2])
const meta = await parquetMetadataAsync(file)
const rows = await parquetReadObjects({ file, compressors })
const bounds = {}
for (const g of meta.row_groups) for (const { meta_data: m } of g.columns) {
  const s = m.statistics ?? {}
  const of = bounds[m.path_in_schema[0]] ??= []
  if (s.min_value !== undefined) of.push([String(s.min_value), String(s.max_value)])
}
console.log(JSON.stringify({ groups: meta.row_groups.length, notes: meta.key_value_metadata,
  schema: meta.schema.slice(1), bounds, rows }, (k, v) => typeof v === 'bigint' ? v.toString() : v))
`

var parquetNeeds = []testkit.Need{testkit.Node, testkit.NodeModule("hyparquet"),
	testkit.NodeModule("hyparquet-compressors")}

func readParquet(t *testing.T, path string) (f parquetFile) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "read.mjs")
	text := fmt.Sprintf(parquetScript, testkit.NodeModulePath("hyparquet"),
		testkit.NodeModulePath("hyparquet-compressors"))
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("timeout", "60", "node", script, path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hyparquet: %s: %v", path, err)
	}
	if err := json.Unmarshal(out, &f); err != nil {
		t.Fatalf("%v in %.1000s", err, out)
	}
	return f
}

func (f *parquetFile) note(key string) string {
	for _, n := range f.Notes {
		if n.Key == "ppscript."+key {
			return n.Value
		}
	}
	return ""
}

// column returns the type of a column, such as "INT64" or "BYTE_ARRAY STRING".
func (f *parquetFile) column(name string) string {
	for _, s := range f.Schema {
		if s.Name != name {
			continue
		}
		if s.Logical_type != nil {
			return s.Type + " " + s.Logical_type.Type
		}
		return s.Type
	}
	return ""
}
