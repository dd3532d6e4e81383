package workload

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	MaybeExecChild()
	os.Exit(m.Run())
}

// A command that computes for a while has that time, and not what the held child took to start.
func TestTimes(t *testing.T) {
	c := &Command{Args: []string{"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Kill()
	begin := time.Now()
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	<-c.Ended()
	took := time.Since(begin)
	got, err := c.Times()
	if err != nil {
		t.Fatal(err)
	}
	st, _ := c.Status()
	all := st.UserTime() + st.SystemTime()
	if got.Elapsed <= 0 || got.Elapsed > took {
		t.Errorf("elapsed: got %v, want at most %v", got.Elapsed, took)
	}
	if sum := got.User + got.System; sum <= 0 || sum > all {
		t.Errorf("user and system: got %v, want more than 0 and at most %v of the process", sum, all)
	}
	if again, err := c.Times(); err != nil || again != got {
		t.Errorf("asked again: got %+v, %v, want %+v", again, err, got)
	}
}

// A command that still runs is measured by what /proc has of it.
func TestTimesOfARunningCommand(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	c := &Command{Args: []string{"cat"}, Stdin: in}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Kill()
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Times(); err != nil || got.Elapsed <= 0 {
		t.Errorf("got %+v, %v, want the time since it was let go", got, err)
	}
}
