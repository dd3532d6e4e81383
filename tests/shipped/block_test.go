package shipped

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Requests of one disk: a whole one, one without a scheduler, one whose stages
// were not all seen, one that never completed; a flush and another disk's.
const requests = `
block:block_getrq dev:u32 sector:u64
block:block_rq_insert dev:u32 sector:u64
block:block_rq_issue dev:u32 sector:u64
block:block_rq_complete dev:u32 sector:u64
1us 0 dd/7 block_getrq dev=DEV sector=100
2us 0 dd/7 block_rq_insert dev=DEV sector=100
4us 0 kworker/9 block_rq_issue dev=DEV sector=100
9us 1 swapper/0 block_rq_complete dev=DEV sector=100
10us 0 dd/7 block_getrq dev=DEV sector=200
13us 0 dd/7 block_rq_issue dev=DEV sector=200
20us 0 dd/7 block_rq_complete dev=DEV sector=200
30us 0 dd/7 block_getrq dev=DEV sector=300
31us 0 dd/7 block_rq_complete dev=DEV sector=300
40us 0 dd/7 block_getrq dev=DEV sector=400
50us 0 dd/7 block_getrq dev=DEV sector=400
60us 0 dd/7 block_rq_insert dev=DEV sector=400
61us 0 dd/7 block_rq_insert dev=1 sector=400
70us 0 dd/7 block_rq_complete dev=DEV sector=18446744073709551615
`

func TestBlktraceNotes(t *testing.T) {
	disks, err := filepath.Glob("/sys/class/block/*/queue")
	if err == nil && len(disks) == 0 {
		err = errors.New("its name is needed")
	}
	testkit.Requires(t, testkit.Core("a block device", err))
	disk := filepath.Base(filepath.Dir(disks[0]))
	text, err := os.ReadFile(filepath.Join("/sys/class/block", disk, "dev"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "requests.txt")
	if err := os.WriteFile(file,
		[]byte(strings.ReplaceAll(requests, "DEV", number(t, strings.TrimSpace(string(text))))),
		0o644); err != nil {
		t.Fatal(err)
	}
	out := testkit.Run(t, testkit.PPScript(t), "blktrace", "-d", disk, "--input", file, "-vv", "--than",
		"6us", "--time", "mono", "--color", "never").Want(t, 0)
	const want = `                dd      7 [000] 0.000013: block-step: block_getrq => block_rq_issue 3.000 us sector 200 BYPASS_INSERT
                dd      7 [000] 0.000020: block-step: block_rq_issue => block_rq_complete 7.000 us sector 200
                dd      7 [000] 0.000031: block-step: block_getrq => block_rq_complete 1.000 us sector 300 LOST
                dd      7 [000] 0.000050: block-step: block_getrq => block_getrq 10.000 us sector 400 EXIST
                dd      7 [000] 0.000060: block-step: block_getrq => block_rq_insert 10.000 us sector 400
`
	if !strings.HasPrefix(out.Stdout, want) {
		t.Errorf("got\n%s\nwant\n%s", out.Stdout, want)
	}
	for _, row := range []string{
		"BYPASS_INSERT           1\n", "LOST                    1\n", "EXIST                   1\n",
		"      block_getrq => block_rq_complete        1            1.000        1.000        1.000        1.000       0 (  0%)\n",
		"      block_getrq => block_rq_insert          2           11.000        1.000        5.500       10.000       1 ( 50%)\n",
		"      block_getrq => block_rq_issue           1            3.000        3.000        3.000        3.000       0 (  0%)\n",
		"  block_rq_insert => block_rq_issue           1            2.000        2.000        2.000        2.000       0 (  0%)\n",
		"   block_rq_issue => block_rq_complete        2           12.000        5.000        6.000        7.000       1 ( 50%)\n",
	} {
		if !strings.Contains(out.Stdout, row) {
			t.Errorf("got\n%s\nwant a row %s", out.Stdout, row)
		}
	}
}

// number returns the number that tracepoints have for a device MAJOR:MINOR.
func number(t *testing.T, device string) string {
	t.Helper()
	var major, minor uint64
	if _, err := fmt.Sscanf(device, "%d:%d", &major, &minor); err != nil {
		t.Fatalf("device %q: %v", device, err)
	}
	return strconv.FormatUint(major<<20|minor, 10)
}
