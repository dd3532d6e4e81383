package vm

import (
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// With two CPUs of one core, threads that run on both at the same time are
// siblings.
func TestSiblings(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	r := Run(t, Guest{CPUs: 2, Threads: 2, Files: files}, `
cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list
ppscript oncpu --threads --detail --format json --system -- sh -c '
	taskset 1 timeout 2 sh -c "while :; do :; done" &
	taskset 2 timeout 2 sh -c "while :; do :; done" &
	wait; true'`)
	siblings, output, _ := strings.Cut(string(r.Output), "\n")
	if r.Status != 0 || siblings != "0-1" && siblings != "0,1" {
		t.Fatalf("got status %d and siblings %q, want two CPUs of one core", r.Status, siblings)
	}
	// A name is from the last switch, which may have been before the loop.
	loop := func(comm string) bool { return comm == "sh" || comm == "timeout" }
	shared := map[int64]bool{}
	for _, table := range testkit.Tables(t, output) {
		for _, row := range table.Rows {
			if loop(row.Text(t, "comm")) && loop(row.Text(t, "sibling_comm")) && row.Int(t, "time") > 0 {
				shared[row.Int(t, "cpu")] = true
			}
		}
	}
	if len(shared) != 2 {
		t.Errorf("got loops beside a loop on CPUs %v, want on both", shared)
	}
}
