package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/formats"
	"ppscript/tests/testkit"
)

// This file has one run of a profiler: how it is started in a way, and the
// faults in its output.

// A job is one run of a profiler.
type job struct {
	*testkit.Process
	name, way string
	row
	workers []string // threads whose work it must see
	foreign bool     // sums may include other threads
	few     bool     // as in scene: other profilers observe at the same time
	args    []string // the row's arguments, with names filled in
	file    string
	wrong   []string
}

func (j *job) failf(format string, args ...any) {
	j.wrong = append(j.wrong, j.String()+": "+fmt.Sprintf(format, args...))
}

func (j *job) String() string { return strings.ReplaceAll(j.name, "_", "-") + ", " + j.way }

// enough reports whether each thread that was seen has the expected number of
// events.
func enough(got map[string]int64, each int64) bool {
	for _, n := range got {
		if n < each {
			return false
		}
	}
	return len(got) > 0
}

// start attaches a profiler in one way; nil if that way does not apply.
func start(t *testing.T, g *target, name, way string) *job {
	t.Helper()
	r := matrix[name]
	if r.no[way] != "" || way == "command" {
		return nil
	}
	j := &job{name: name, way: way, row: r, args: g.fill(t, r.args), few: g.few}
	rings := []string{"-m", "256"}
	if g.few || way == "cpu" {
		rings = []string{"-m", "4096"}
	}
	for i := range g.scene.workers {
		j.workers = append(j.workers, g.worker(i))
	}
	at, more := []string{"-p", strconv.Itoa(g.PID())}, []string(nil)
	onCPU := []string{"-C", "0"}
	switch {
	case r.everywhere:
		at = nil
	case r.whole:
		at = onCPU
	}
	format := "json"
	switch way {
	case "text", "csv":
		format = way
	case "file":
		j.file = filepath.Join(g.dir, name)
		more = []string{"-o", j.file}
	case "perins":
		if !hasOption(t, name, "--perins") || slices.Contains(r.args, "--perins") {
			return nil
		}
		more = []string{"--perins"}
	case "interval":
		more = []string{"-i", "20ms"}
	case "tid":
		if r.whole {
			return nil // checked by refuses
		}
		at = []string{"-t", strconv.Itoa(threadOf(t, g.PID(), g.worker(g.scene.workers-1)))}
		j.workers = j.workers[g.scene.workers-1:]
	case "cpu":
		if at = onCPU; r.whole {
			return nil // the same as pid
		}
	case "cgroup":
		if r.whole || g.cgroup == "" {
			return nil
		}
		at = []string{"--cgroups", g.cgroup}
	case "record":
		if r.record == "" {
			return nil
		}
		j.file = filepath.Join(g.dir, name+".data")
		if r.recordCPU {
			at = nil
		}
		args := slices.Concat([]string{
			testkit.PPScript(t), "record", "-v", "-e", strings.ReplaceAll(r.record, "{comm}", g.comm),
			"-o", j.file,
		}, at)
		j.Process = testkit.Start(t, args...)
		j.opens = 1
		return j
	}
	j.foreign = r.whole
	if slices.Equal(at, onCPU) {
		j.foreign = true
		if !g.oneCPU {
			j.workers = j.workers[:1]
		}
	}
	args := slices.Concat([]string{testkit.PPScript(t), name}, at, []string{"-v", "--format", format},
		rings, more, j.args)
	j.Process = testkit.Start(t, args...)
	return j
}

// fill replaces the placeholders of arguments by names that the test found.
func (s *scene) fill(t *testing.T, args []string) []string {
	t.Helper()
	var full []string
	for _, a := range args {
		for word, value := range s.words {
			a = strings.ReplaceAll(a, word, value)
		}
		if strings.Contains(a, "{left address}") {
			a = strings.ReplaceAll(a, "{left address}", leftAddress(t))
		}
		full = append(full, a)
	}
	return full
}

// shows reports whether an output that is not complete yet already has the
// expected events.
func (j *job) shows(t *testing.T, stdout string) bool {
	t.Helper()
	switch j.way {
	case "text":
		return regexp.MustCompile(j.text).MatchString(stdout)
	case "csv":
		return strings.Count(stdout, "\n") > 1
	case "file":
		text, _ := os.ReadFile(j.file)
		stdout = string(text[:strings.LastIndexByte(string(text), '\n')+1])
	}
	n := int64(0)
	for _, v := range j.count(t, stdout) {
		n += v
	}
	return n >= j.each
}

// check finds the faults in the output. titles are the columns of the first way,
// which uses JSON.
func (j *job) check(t *testing.T, stdout string, titles [][]string) [][]string {
	t.Helper()
	switch j.way {
	case "text":
		if j.each == 0 {
			break // there may be nothing to show
		}
		wanted := []*regexp.Regexp{}
		if j.text != "" {
			wanted = append(wanted, regexp.MustCompile(j.text))
		} else if len(titles) == 0 {
			j.failf("no columns to look for")
		}
		for i := 0; i < len(titles) && j.text == ""; i++ {
			wanted = append(wanted, inOrder(titles[i]))
		}
		for _, w := range wanted {
			if !w.MatchString(stdout) {
				j.failf("got\n%s\nwant a line %v", head(stdout), w)
			}
		}
	case "csv":
		j.fits(formats.Read(t).CSV(stdout))
		if j.each == 0 {
			break
		}
		if !strings.HasPrefix(stdout, "time,result,") {
			j.failf("got\n%s\nwant a header", head(stdout))
		}
	case "record":
		out := testkit.Run(t,
			slices.Concat([]string{testkit.PPScript(t), j.name, "--input", j.file, "--format", "json"},
				j.args)...).Want(t, 0)
		j.foreign, j.few = j.recordCPU, false
		j.verify(t, out.Stdout, rounds)
	default:
		if bad := notJSON(stdout); bad != "" {
			j.failf("got %q, want one object a line", bad)
			break
		}
		j.fits(formats.Read(t).JSON(stdout))
		now := columns(t, stdout)
		if titles == nil {
			titles = now
		} else if j.way != "perins" && j.way != "cpu" && j.way != "cgroup" && len(now) > 0 &&
			!slices.EqualFunc(titles, now, slices.Equal) {
			j.failf("got columns %v, want those of -p, %v", now, titles)
		}
		j.verify(t, stdout, rounds)
		if tables := len(testkit.Tables(t, stdout)); j.way == "interval" && len(now) > 0 &&
			tables < 2*len(now) {
			j.failf("got %d tables, want two intervals at least", tables)
		}
	}
	return titles
}

// fits records the first violation of docs/formats.md.
func (j *job) fits(wrong []string) {
	if len(wrong) > 0 {
		j.failf("%s", wrong[0])
	}
}

// lossy matches results that report missing events.
var lossy = regexp.MustCompile(`"(lost|dropped)":[1-9]`)

// verify compares the events that were seen with the work of the workers.
func (j *job) verify(t *testing.T, stdout string, times int64) {
	t.Helper()
	if j.each == 0 {
		return
	}
	if (j.foreign || j.few) && lossy.MatchString(stdout) {
		// Other processes fill the rings, so it is unknown whose events are
		// missing.
		t.Logf("%s: events were lost, as it says", j)
		return
	}
	got := j.count(t, stdout)
	want := j.each * times
	if j.least {
		want = j.each
	}
	fail := func(who string, n, want int64) {
		j.failf("got %d%s, want %d; all: %v\n%s", n, who, want, got, head(stdout))
	}
	if sum, one := got[""]; one {
		want *= int64(len(j.workers))
		if j.least && j.whole {
			want = j.each
		}
		if sum < want || sum > want && !j.least && !j.foreign {
			fail("", sum, want)
		}
		return
	}
	for _, w := range j.workers {
		if n := got[w]; n < want || n > want && !j.least {
			fail(" of "+w, n, want)
		}
	}
	comm, _, _ := strings.Cut(j.workers[0], "-")
	for who, n := range got {
		if strings.HasPrefix(who, comm+"-") && !slices.Contains(j.workers, who) && !j.foreign {
			fail(" of "+who, n, 0)
		}
	}
}

// head returns the beginning of an output, without messages about the run.
func head(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, `{"v":1,"type":"message"`) {
			b.WriteString(line)
		}
	}
	return b.String()[:min(1500, b.Len())]
}
