package vm

import (
	"strings"
	"testing"
	"time"
)

// Profilers that run while a CPU goes and comes, and others of us are killed, leave nothing,
// and what is known is counted, or told as missing.
func TestSoakOfCPUsThatComeAndGo(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/load":     build(t, "amd64", "tests/testkit/load"),
		"/w/soak":     build(t, "amd64", "tests/soak"),
	}
	r := Run(t, Guest{CPUs: 2, MemoryMiB: 1536, Files: files, Timeout: 4 * time.Minute}, `
cpu=/sys/devices/system/cpu/cpu1/online
(n=0; while sleep 0.7; do echo 0 >$cpu; sleep 0.7; echo 1 >$cpu; n=$((n+1)); echo $n >times; done) &
soak -length 15s -kills 10 -forks 5 -stress=false -ppscript /w/ppscript -load /w/load
status=$?
[ "$(cat times)" -gt 4 ] || { echo the CPU went $(cat times) times; status=9; }
exit $status
`)
	if r.Status != 0 || !strings.Contains(string(r.Output), "nothing is left") {
		t.Errorf("got status %d", r.Status)
	}
}
