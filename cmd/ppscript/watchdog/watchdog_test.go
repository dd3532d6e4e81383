package watchdog

import (
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// hangs runs fn with a watchdog and returns the watchdog's message.
func hangs(t *testing.T, fn func(d *Watchdog)) (stage string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &Watchdog{Hung: func(what string, _ time.Duration) { stage = what }}
		defer d.Close()
		fn(d)
		synctest.Wait()
	})
	return stage
}

func TestWatchdogWaitsForNothing(t *testing.T) {
	if got := hangs(t, func(d *Watchdog) { d.At("observe", true); time.Sleep(time.Hour) }); got != "" {
		t.Errorf("nobody asked for the end: got %q cut off", got)
	}
}

func TestWatchdogEndsWhatDoesNotMove(t *testing.T) {
	got := hangs(t, func(d *Watchdog) {
		d.At("observe", true)
		d.End()
		time.Sleep(idleEnd - time.Millisecond)
		d.At("write", false) // something moved
		time.Sleep(idleEnd + time.Millisecond)
	})
	if got != "write" {
		t.Errorf("got %q cut off, want write", got)
	}
}

// A look that is due in the moment in which something moves finds that nothing has moved since.
func TestWatchdogIsOvertaken(t *testing.T) {
	hung := make(chan string, 1)
	d := &Watchdog{Hung: func(stage string, _ time.Duration) { hung <- stage }}
	defer d.Close()
	d.At("open", false)
	d.End()
	d.mu.Lock()
	d.timer.Reset(0)
	time.Sleep(20 * time.Millisecond) // it waits for the lock
	d.wait(time.Now())
	d.mu.Unlock()
	select {
	case stage := <-hung:
		t.Errorf("got %q cut off, which has just moved", stage)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestWatchdogLetsEventsBeClosed(t *testing.T) {
	got := hangs(t, func(d *Watchdog) {
		d.At("close", true)
		d.End()
		for range 10 {
			f, err := os.Open("/dev/null") // a descriptor comes, as others go
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			time.Sleep(idleEnd - time.Millisecond)
		}
	})
	if got != "" {
		t.Errorf("descriptors moved: got %q cut off", got)
	}
}

func TestWatchdogKnowsTheDuration(t *testing.T) {
	for _, c := range []struct {
		sleep time.Duration
		want  string
	}{{time.Minute + idleEnd - time.Second, ""}, {time.Minute + idleEnd + time.Second, "observe"}} {
		got := hangs(t, func(d *Watchdog) {
			d.LimitTo(time.Minute)
			d.At("open", false)
			time.Sleep(30 * time.Second)
			d.At("observe", true) // the time counts from now
			time.Sleep(c.sleep)
		})
		if got != c.want {
			t.Errorf("%s of a minute: got %q cut off, want %q", c.sleep, got, c.want)
		}
	}
	got := hangs(t, func(d *Watchdog) {
		d.LimitTo(time.Minute) // of the command, as it turns out
		d.At("load", false)
		d.LimitTo(0)
		d.At("observe", true)
		time.Sleep(time.Hour)
	})
	if got != "" {
		t.Errorf("without a limit: got %q cut off", got)
	}
}

// A thread that could run, and has no CPU since another one keeps it, is no hang.
func TestWaitingForACPUMoves(t *testing.T) {
	_, err := os.Stat("/proc/self/schedstat")
	testkit.Requires(t, testkit.Optional("times that threads wait for a CPU", err))
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	var one unix.CPUSet
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	// Two threads share a CPU, so that one waits whenever the other runs.
	const spin = 400 * time.Millisecond
	before := waited()
	done, end := make(chan error), make(chan struct{})
	for range 2 {
		go func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			err := unix.SchedSetaffinity(0, &one)
			for until := time.Now().Add(spin); time.Now().Before(until); {
			}
			done <- err
			<-end // its times are gone once it is
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	got := waited() - before
	close(end)
	if got < spin/2 {
		t.Errorf("two threads on one CPU for %v: got %v of waiting, want about as much", spin, got)
	}
}

// A run that is to last for a time may take longer to begin than one that was told to end.
func TestWatchdogLetsRunsBegin(t *testing.T) {
	f := func(want string, sleep time.Duration, due func(d *Watchdog)) {
		t.Helper()
		got := hangs(t, func(d *Watchdog) {
			d.At("open", false)
			due(d)
			time.Sleep(sleep)
		})
		if got != want {
			t.Errorf("after %s: got %q cut off, want %q", sleep, got, want)
		}
	}
	limit := func(d *Watchdog) { d.LimitTo(time.Second); d.At("open", false) }
	f("", time.Second+idleEnd-time.Millisecond, limit)
	f("open", time.Second+idleEnd+time.Millisecond, limit)
	f("", idleStart-time.Millisecond, (*Watchdog).End)
	f("open", idleStart+time.Millisecond, (*Watchdog).End)
}
