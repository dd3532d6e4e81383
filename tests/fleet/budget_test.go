package fleet_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// The policy of one host limits the cost of observing, the policy of the other does not, and the
// asker sets no budget: the first host reports estimates with margins, the second all calls, and
// the result says so. Without an option the default budget applies.
func TestBudgetsOfHosts(t *testing.T) {
	t.Parallel()
	p := begin(t)
	const calls, rounds = 1_500_000, 3
	policy, err := os.ReadFile(filepath.Join(p.dir, "policy"))
	if err != nil {
		t.Fatal(err)
	}
	p.start("free")
	// A smaller budget would be used up by the start of the run, so that
	// nothing would be observed.
	p.write("policy", string(policy)+"max-budget 2%\n")
	p.start("bound")
	p.await(2)
	target := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	usual := testkit.StartFor(t, time.Minute, testkit.PPScript(t), "fleet", "run", "--hub", p.url, "-i",
		"250ms", filepath.Join(p.dir, "count.star"), "--of", strconv.Itoa(target.PID()), "--format", "json")
	usual.WaitStdout(`"budget":0.05,`)
	usual.Stop()
	run := p.ask(target, "--by", "host", "-i", "30s") // the whole run is in one interval, or two
	run.WaitStderr("runs on 2 hosts")
	for name, agent := range p.agents {
		for end := time.Now().Add(20 * time.Second); len(jobs(agent.PID())) != 1; {
			time.Sleep(20 * time.Millisecond)
			if time.Now().After(end) {
				t.Fatalf("%s: got jobs %v, want one", name, jobs(agent.PID()))
			}
		}
	}
	time.Sleep(3 * time.Second)
	for range rounds {
		target.Do()
	}
	run.Signal(syscall.SIGINT)
	out := run.Wait()
	got, far, sampled := map[string]float64{}, map[string]float64{}, false
	for _, table := range testkit.Tables(t, out.Stdout) {
		for _, row := range table.Rows {
			name := row.Text(t, "host")
			got[name] += float64(row.Int(t, "count"))
			sampled = sampled || name == "bound" && row["sampled"] == true
			if row["count_margin"] != nil {
				far[name] += float64(row.Int(t, "count_margin"))
			}
		}
	}
	if got["free"] != rounds*calls || far["free"] != 0 {
		t.Errorf("free: got %v calls ± %v, want %d: %s", got["free"], far["free"], rounds*calls, out.Stdout)
	}
	// Margins hold in 95 of 100 runs, so three times the margin practically always
	// holds. There are no margins if too few events were seen, or if the machine is
	// overloaded.
	if off := math.Abs(got["bound"] - rounds*calls); !sampled && (far["bound"] == 0 || off > 3*far["bound"]) {
		t.Errorf("bound: got %v calls ± %v, want %d", got["bound"], far["bound"], rounds*calls)
	}
	if !strings.Contains(out.Stdout, `"sampled":1`) || !strings.Contains(out.Stdout, `"budget":1,`) &&
		!strings.Contains(out.Stdout, `"budget":0.02,`) {
		t.Errorf("the result does not tell of budgets: %s", out.Stdout)
	}
	t.Log(fmt.Sprint(got, far))
}
