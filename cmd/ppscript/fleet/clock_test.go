package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A host whose clock is off, and one whose clock is set while a job runs, are named in each result from then
// on, until the clock is right again. Their windows count where their clocks put them: no call is lost.
func TestClocksThatAreOffAreMarked(t *testing.T) {
	p := hub(t, "127.0.0.1:0")
	p.agent("good", nil)
	var set atomic.Int64 // of the clock of one host, in ns
	const off = 5 * time.Second
	p.agent("off", func(a *Agent) {
		a.Now = func() time.Time { return time.Now().Add(-off) }
		program := filepath.Join(t.TempDir(), "skewed")
		text := fmt.Sprintf("#!/bin/sh\nFLEET_SKEW=-%s exec %s \"$@\"\n", off, a.Program)
		if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		a.Program = program
	})
	p.agent("set", func(a *Agent) {
		a.Now = func() time.Time { return time.Now().Add(time.Duration(set.Load())) }
	})
	p.waitForHosts(3)
	to := &answers{windows: make(chan struct{}, 1)}
	const windows = 30
	var err error
	var asked sync.WaitGroup
	asked.Go(func() {
		err = p.ask(context.Background(), fmt.Sprint(windows), to, func(a *Asker) {
			a.Clocks, a.Late = 100*time.Millisecond, 30*time.Second
		})
	})
	await := func(what string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !strings.Contains(to.String(), what); {
			if time.Now().After(end) {
				t.Fatalf("no %q in %s", what, to)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	<-to.windows
	set.Store(int64(3 * time.Second))
	await("the clock of set is ")
	await(`"skewed":["off","set"]`)
	set.Store(0)
	await("the clock of set is right again")
	asked.Wait()
	if err != nil {
		t.Fatal(err)
	}
	p.exact(3, windows, to)
	text := to.String()
	for _, part := range []string{"the clock of off is ", "s behind, at least", "s ahead, at least"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, strings.Join(to.messages, "\n"))
		}
	}
	notes, marked := strings.Count(text, `"type":"hosts"`), strings.Count(text, `"skewed":["off"`)
	if notes < windows || marked != notes {
		t.Errorf("%d of %d results name the host whose clock is off: %s", marked, notes, text)
	}
}
