package shipped

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/formats"
	"ppscript/tests/testkit"
)

// The output of each script of scripts/ that finds its events in a recording
// fits docs/formats.md; some have histograms.
func TestScriptsFitTheFormats(t *testing.T) {
	scripts, err := filepath.Glob("../../scripts/*/*.star")
	if err != nil {
		t.Fatal(err)
	}
	f := formats.Read(t)
	ran, kinds := 0, map[string]bool{}
	for _, script := range scripts {
		if strings.HasSuffix(script, "_test.star") || strings.Contains(script, "/lib/") {
			continue
		}
		for _, data := range []string{"load.data", "kvm.data", "stacks.data"} {
			outputs := map[string]string{}
			for _, format := range []string{"json", "csv"} {
				out := testkit.Run(t, testkit.PPScript(t), script, "--input", filepath.Join("../data", data),
					"--format", format)
				if out.Exit == 0 {
					outputs[format] = out.Stdout
				}
			}
			if len(outputs) < 2 {
				continue // no recording has its events, or it needs an argument
			}
			ran++
			for _, r := range testkit.Records(t, outputs["json"]) {
				kinds[r.Type] = true
			}
			for _, wrong := range slices.Concat(f.JSON(outputs["json"]), f.CSV(outputs["csv"]),
				f.Agree(outputs["json"], outputs["csv"])) {
				t.Errorf("%s of %s: %s", script, data, wrong)
			}
		}
	}
	if ran < 8 || !kinds["histogram"] || !kinds["table"] {
		t.Errorf("got %d runs with %v, want 8 at least, with histograms", ran, kinds)
	}
}

func TestShippedScriptsAreFormatted(t *testing.T) {
	out := testkit.Run(t, testkit.PPScript(t), "fmt", "--check", "../../stdlib", "../../scripts")
	if out.Exit != 0 || out.Stdout != "" {
		t.Errorf("got exit %d, want 0; these are not formatted (ppscript fmt -w FILE):\n%s%s", out.Exit,
			out.Stdout, out.Stderr)
	}
}
