package shipped

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A thread that runs for 1 ms, is in a state for 1 ms, waits 1 ms for a CPU, and
// runs for 1 ms.
const oneState = `
sched:sched_switch prev_comm:str prev_pid:s32 prev_prio:s32 prev_state:s64 next_comm:str next_pid:s32 next_prio:s32
sched:sched_wakeup comm:str pid:s32 prio:s32 target_cpu:s32
1ms 0 sh/8 sched_switch prev_comm=sh prev_pid=8 prev_state=1 next_comm=db next_pid=7
2ms 0 db/7 sched_switch prev_comm=db prev_pid=7 prev_state=%d next_comm=sh next_pid=8
%s4ms 0 sh/8 sched_switch prev_comm=sh prev_pid=8 prev_state=1 next_comm=db next_pid=7
5ms 0 db/7 sched_switch prev_comm=db prev_pid=7 prev_state=1 next_comm=sh next_pid=8
`

const itsWakeup = "3ms 0 sh/8 sched_wakeup comm=db pid=7\n"

// Each state has the letter that perf sched shows, in all profilers.
func TestStatesHaveTheirLetters(t *testing.T) {
	for _, c := range []struct {
		bits   int
		letter string
		own    bool // task-state shows the state itself; otherwise the time until the thread runs again
	}{
		{0, "R", false}, {0x100, "R", false}, {1, "S", true}, {2, "D", true}, {4, "T", true}, {8, "t", true},
		{0x10, "X", false}, {0x20, "Z", false}, {0x40, "P", true}, {0x80, "I", true},
	} {
		t.Run(fmt.Sprintf("%#x", c.bits), func(t *testing.T) {
			t.Parallel()
			ready := c.bits == 0 || c.bits == 0x100
			wakeup := itsWakeup
			if ready {
				wakeup = ""
			}
			file := filepath.Join(t.TempDir(), "state.txt")
			if err := os.WriteFile(file, []byte(fmt.Sprintf(oneState, c.bits, wakeup)), 0o644); err != nil {
				t.Fatal(err)
			}
			run := func(name string, args ...string) string {
				args = append([]string{testkit.PPScript(t), name, "--input", file, "--format", "json"},
					args...)
				return testkit.Run(t, args...).Want(t, 0).Stdout
			}
			got := ""
			for _, e := range testkit.Events(t, run("sched-timehist")) {
				if e.Fields["task"] == "db" {
					got += fmt.Sprint(e.Fields["state"], " ")
				}
			}
			if want := c.letter + " S "; got != want {
				t.Errorf("sched-timehist: got %q, want %q", got, want)
			}
			got = ""
			for _, r := range testkit.Tables(t, run("../../scripts/cpu/offcpu.star"))[0].Rows {
				if r["comm"] == "db" {
					got += fmt.Sprint(r["state_text"], " ", r["total"], " ")
				}
			}
			if want := c.letter + " 2000000 "; got != want {
				t.Errorf("offcpu: got %q, want %q", got, want)
			}
			want := map[string]int64{"R": 2e6, "RD": 1e6}
			switch {
			case ready:
				want["RD"] = 2e6
			case c.own:
				want[c.letter] = 1e6
			}
			rows := map[string]int64{}
			for _, r := range testkit.Tables(t, run("task-state", "--filter", "db"))[0].Rows {
				if n := r.Int(t, "total"); n > 0 {
					rows[r.Text(t, "St_text")] += n
				}
			}
			if a, b := fmt.Sprint(rows), fmt.Sprint(want); a != b {
				t.Errorf("task-state: got %s, want %s", a, b)
			}
			// A preempted thread waits from the preemption on; another thread
			// since its wake-up.
			delay := int64(1e6)
			if ready {
				delay = 2e6
			}
			for _, r := range testkit.Tables(t, run("sched-latency"))[0].Rows {
				if strings.HasPrefix(r.Text(t, "task"), "db") && r.Int(t, "max delay") != delay {
					t.Errorf("sched-latency: got %v, want a delay of %d", r, delay)
				}
			}
		})
	}
}

// If no event shows that a task got its CPU, for example because perf misses switches from the idle
// task, the task ran nevertheless: since its wake-up, or, if that was not seen either, for an
// unknown time, which is counted as unseen.
func TestRunsThatBeganUnseen(t *testing.T) {
	const events = `
sched:sched_switch prev_comm:str prev_pid:s32 prev_state:s64 next_comm:str next_pid:s32
sched:sched_wakeup comm:str pid:s32
1ms 0 sh/8 sched_switch prev_comm=sh prev_pid=8 prev_state=1 next_comm=db next_pid=7
2ms 0 db/7 sched_switch prev_comm=db prev_pid=7 prev_state=1 next_comm=swapper/0 next_pid=0
3ms 1 sh/8 sched_wakeup comm=db pid=7
5ms 0 db/7 sched_switch prev_comm=db prev_pid=7 prev_state=1 next_comm=swapper/0 next_pid=0
8ms 0 db/7 sched_switch prev_comm=db prev_pid=7 prev_state=1 next_comm=sh next_pid=8
`
	file := filepath.Join(t.TempDir(), "unseen.txt")
	if err := os.WriteFile(file, []byte(events), 0o644); err != nil {
		t.Fatal(err)
	}
	out := testkit.Run(t, testkit.PPScript(t), "task-state", "--filter", "db", "--input", file,
		"--format", "json").Want(t, 0).Stdout
	var got []string
	for _, r := range testkit.Tables(t, out)[0].Rows {
		got = append(got, fmt.Sprintf("%s %d %d %d", r.Text(t, "St_text"),
			r.Int(t, "calls"), r.Int(t, "total"), r.Int(t, "unseen")))
	}
	// The end of the sleep from 5 to 8 ms is unknown, and the last sleep goes on.
	want := []string{"R 2 3000000 2", "S 2 4000000 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
