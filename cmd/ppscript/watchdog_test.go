package main

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// hangs runs fn with a watchdog and returns the watchdog's message.
func hangs(t *testing.T, fn func(d *watchdog)) (stage string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &watchdog{hung: func(what string, _ time.Duration) { stage = what }}
		defer d.close()
		fn(d)
		synctest.Wait()
	})
	return stage
}

func TestWatchdogWaitsForNothing(t *testing.T) {
	if got := hangs(t, func(d *watchdog) { d.at("observe", true); time.Sleep(time.Hour) }); got != "" {
		t.Errorf("nobody asked for the end: got %q cut off", got)
	}
}

func TestWatchdogEndsWhatDoesNotMove(t *testing.T) {
	got := hangs(t, func(d *watchdog) {
		d.at("observe", true)
		d.end()
		time.Sleep(idleEnd - time.Millisecond)
		d.at("write", false) // something moved
		time.Sleep(idleEnd + time.Millisecond)
	})
	if got != "write" {
		t.Errorf("got %q cut off, want write", got)
	}
}

func TestWatchdogLetsEventsBeClosed(t *testing.T) {
	got := hangs(t, func(d *watchdog) {
		d.at("close", true)
		d.end()
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
		got := hangs(t, func(d *watchdog) {
			d.limitTo(time.Minute)
			d.at("open", false)
			time.Sleep(30 * time.Second)
			d.at("observe", true) // the time counts from now
			time.Sleep(c.sleep)
		})
		if got != c.want {
			t.Errorf("%s of a minute: got %q cut off, want %q", c.sleep, got, c.want)
		}
	}
	got := hangs(t, func(d *watchdog) {
		d.limitTo(time.Minute) // of the command, as it turns out
		d.at("load", false)
		d.limitTo(0)
		d.at("observe", true)
		time.Sleep(time.Hour)
	})
	if got != "" {
		t.Errorf("without a limit: got %q cut off", got)
	}
}
