package exporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestParse(t *testing.T) {
	jobs, err := Parse("# all\n\ncalls: syscalls -p 'a b'\n  run-q :runqlat --than 10ms\n")
	if got, want := fmt.Sprintf("%+v %q %v", jobs, jobs[0].Words, err),
		`[{Name:calls Words:[syscalls -p a b] Line:3} `+
			`{Name:run-q Words:[runqlat --than 10ms] Line:4}] ["syscalls" "-p" "a b"] <nil>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for text, want := range map[string]string{
		"# nothing":       "no script in it",
		"a: b\na: c":      "line 2: the name a is there already",
		"syscalls":        "line 1: got no name",
		"a b: x":          "line 1: got no name",
		"a:":              "line 1: no script behind a",
		"a: x 'y":         "a quote that does not end",
		": x":             "line 1: got no name",
		"a: x\n\nb: \"\"": "",
	} {
		_, err := Parse(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// Jobs that end begin again, later each time; a changed file ends, begins and keeps jobs.
func TestSupervisor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		began := time.Now()
		var mu sync.Mutex
		say := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf("%v ", time.Since(began))+fmt.Sprintf(format, args...))
		}
		fails := errors.New("no such event")
		s := &Supervisor{
			Run: func(ctx context.Context, j Job) error {
				say("run %s %s", j.Name, j.Words)
				if j.Words[0] == "bad" {
					return fails
				}
				<-ctx.Done()
				say("end %s", j.Name)
				return nil
			},
			Ended: func(j Job, err error, again time.Duration) {
				say("%s: %v, again in %v", j.Name, err,
					again)
			},
			OnEnd: func(j Job) { say("gone %s", j.Name) },
		}
		set := func(text string) {
			jobs, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			s.Set(t.Context(), jobs)
			synctest.Wait()
		}
		set("a: good\n")
		set("a: good\nb: bad")
		time.Sleep(4 * time.Second)
		synctest.Wait()
		set("# other lines\na: good\nb: good")
		time.Sleep(time.Second)
		set("b: good")
		set("b: good -x")
		s.Close()
		want := `0s run a [good]
0s run b [bad]
0s b: no such event, again in 1s
1s run b [bad]
1s b: no such event, again in 2s
3s run b [bad]
3s b: no such event, again in 4s
4s run b [good]
5s end a
5s gone a
5s end b
5s run b [good -x]
5s end b`
		if got := strings.Join(log, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// The pause grows up to a minute, and no further.
func TestLongestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last time.Duration
		runs := 0
		s := &Supervisor{
			Run:   func(context.Context, Job) error { runs++; return nil },
			Ended: func(_ Job, err error, again time.Duration) { last = again },
		}
		s.Set(t.Context(), []Job{{Name: "a", Words: []string{"x"}}})
		time.Sleep(time.Hour)
		s.Close()
		if last != longestPause || runs < 60 || runs > 70 {
			t.Errorf("got %d runs in an hour, the last pause %v; want one a minute", runs, last)
		}
	})
}
