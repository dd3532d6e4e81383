package shipped

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A histogram has the texts of keys, the order and the unit that a script
// chooses: a disk has its name in text, CSV and JSON.
func TestHistogramsHaveTheirTexts(t *testing.T) {
	dir := t.TempDir()
	file, script := filepath.Join(dir, "events.txt"), filepath.Join(dir, "sizes.star")
	for path, text := range map[string]string{
		file: `
a:took disk:u32 n:u64
1us 0 x/7 took disk=8 n=5
2us 0 x/7 took disk=3 n=6
3us 0 x/7 took disk=8 n=7000
`,
		script: `def main(o):
    took = tracepoint("a:took").let(long = lambda e: e.disk * 1 * us)
    return (
        took.by(disk = "disk").hist("long")
            .text(disk = lambda d: "disk-%d" % d)
            .sort("disk")
            .unit(ms)
            .title("{samples} of all")
    )
`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for format, want := range map[string][]string{
		"text": {
			" 3 of all\ndisk=disk-3: long, 1 event\n[0.002048ms, 0.004096ms)",
			"\ndisk=disk-8: long, 2 events\n[0.004096ms, 0.008192ms)",
		},
		"csv": {"disk,lo(ms),hi(ms),count", ",disk-3,0.002048,0.004096,1", ",disk-8,0.004096,0.008192,2"},
		"json": {
			`"unit":"ns","text_unit":"ms"`,
			`{"key":{"disk":3,"disk_text":"disk-3"},"count":1,"buckets":[[2048,4096,1]]},{"key":{"disk":8,"disk_text":"disk-8"}`,
		},
	} {
		out := testkit.Run(t, testkit.PPScript(t), script, "--input", file, "--format", format).Want(t, 0)
		for _, w := range want {
			if !strings.Contains(out.Stdout, w) {
				t.Errorf("%s: got\n%s\nwant in it\n%s", format, out.Stdout, w)
			}
		}
	}
}
