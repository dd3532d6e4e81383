package vm

import (
	"strings"
	"testing"
	"time"
)

// Profilers that run while a CPU goes offline and comes back, and while other runs are
// killed, leave nothing; the known calls are counted or reported as missing.
func TestSoakOfCPUsThatComeAndGo(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/load":     build(t, "amd64", "tests/testkit/load"),
		"/w/soak":     build(t, "amd64", "tests/soak"),
	}
	r := Run(t, Guest{CPUs: 2, MemoryMiB: 1536, Files: files, Timeout: 8 * time.Minute}, `
unset GOGC
cpu=/sys/devices/system/cpu/cpu1/online
soak -length 15s -kills 10 -forks 5 -stress=false -ppscript /w/ppscript -load /w/load >said 2>&1 &
pid=$! n=0
while kill -0 $pid 2>/dev/null; do
	echo 0 >$cpu; sleep 0.7; echo 1 >$cpu; sleep 0.7; n=$((n+1))
done
wait $pid
status=$?
cat said
echo the CPU went $n times
[ $n -gt 4 ] || exit 9
exit $status
`)
	if r.Status != 0 || !strings.Contains(string(r.Output), "nothing is left") {
		t.Errorf("got status %d", r.Status)
	}
}
