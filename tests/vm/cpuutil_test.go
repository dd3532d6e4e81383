package vm

import (
	"encoding/json"
	"strings"
	"testing"
)

// The time that a CPU spends in guests is shown apart from its own, and -G
// shows only this time.
func TestCPUUtilOfGuests(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	r := Run(t, kvmGuest(t, files),
		`for o in "" -G; do ppscript cpu-util $o --system --format json -i 60s -F 2000 -- minikvm 3000 | grep '"rows"' || exit; done`)
	if r.Status != 0 {
		t.Fatalf("ppscript: got status %d", r.Status)
	}
	lines := strings.Split(strings.TrimSpace(string(r.Output)), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d tables, want 2:\n%s", len(lines), r.Output)
	}
	share := func(line, column string) float64 {
		var table struct {
			Data struct{ Rows []map[string]float64 }
		}
		if err := json.Unmarshal([]byte(line), &table); err != nil || len(table.Data.Rows) != 1 {
			t.Fatalf("got %q (%v), want a table of one CPU", line, err)
		}
		return table.Data.Rows[0][column]
	}
	if guest, sys := share(lines[0], "guest"), share(lines[0], "sys"); guest <= 0 || sys <= 0 {
		t.Errorf("got %.2f %% in the guest and %.2f %% in the kernel, want some", guest, sys)
	}
	// The guest of minikvm has no operating system: all its code runs in kernel
	// mode.
	if sys, guest := share(lines[1], "sys"), share(lines[1], "guest"); sys <= 0 || guest != 0 {
		t.Errorf("-G: got %.2f %% in the guest's kernel and a column of %.2f %%, want some and no column",
			sys, guest)
	}
}
