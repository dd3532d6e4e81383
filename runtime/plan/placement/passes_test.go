package placement

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPassesWriteWhatTheGraphSays checks that each annotation of the graph names the pass that
// writes it, and that pass says so.
func TestPassesWriteWhatTheGraphSays(t *testing.T) {
	text, err := os.ReadFile("../graph/graph.go")
	if err != nil {
		t.Fatal(err)
	}
	writes := map[string]string{}
	for _, p := range append(deciding, settling...) {
		writes[p.name] += p.writes
	}
	// "// ... The pass measure writes it." stands in front of the fields.
	comment := regexp.MustCompile(`The pass\s+(?://\s+)?(\w+) writes (?:it|both|them)\.\n\t([A-Z]\w*)`)
	found := comment.FindAllStringSubmatch(string(text), -1)
	if len(found) < 6 {
		t.Fatalf("got %d annotations with a pass, want at least 6", len(found))
	}
	for _, m := range found {
		if pass, field := m[1], m[2]; !strings.Contains(writes[pass], "."+field) {
			t.Errorf("pass %s writes %q, want %s among it", pass, writes[pass], field)
		}
	}
}
