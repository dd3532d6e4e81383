package eventstring

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/plan"
	"ppscript/runtime/text/diag"
)

func cpus(s string) ([]int, error) {
	if s == "0,2" {
		return []int{0, 2}, nil
	}
	return nil, fmt.Errorf("no such CPU %s", s)
}

// show prints a source in a canonical way.
func show(s *plan.Source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", s.FullName())
	if s.Filter != "" {
		fmt.Fprintf(&b, " filter{%s}", s.Filter)
	}
	for _, a := range s.Attrs {
		fmt.Fprintf(&b, " %s{%s}", a.Name, a.Value)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`sched:sched_wakeup`:           `sched:sched_wakeup`,
		`sched:sched_wakeup//`:         `sched:sched_wakeup`,
		`sched:sched_wakeup/pid>0/`:    `sched:sched_wakeup filter{pid>0}`,
		`sched:sched_wakeup//key=pid/`: `sched:sched_wakeup key{pid}`,
		`sched:a,sched:b//key=x/`:      `sched:a; sched:b key{x}`,
		`sched:sched_*/pid>0/stack/`:   `sched:sched_* filter{pid>0} stack{}`,
		`block:block_rq_issue/rwbs=="W"&&nr_sector<4/top-by=nr_sector/comm=comm/`: `block:block_rq_issue filter{rwbs=="W"&&nr_sector<4} top-by{nr_sector} comm{comm}`,
		`block:x/rwbs=="W"/`:                                             `block:x filter{rwbs=="W"}`,
		`block:x/"a"=="b"/`:                                              `block:x filter{"a"=="b"}`,
		`s:stat//top-by="runtime/1000"/alias=run(us)/`:                   `s:stat top-by{runtime/1000} alias{run(us)}`,
		`irq:i//key=irq/comm="(char *)&common_type+name_offset"/`:        `irq:i key{irq} comm{(char *)&common_type+name_offset}`,
		`s:w/target_cpu==0/cpus="0,2"/,s:x//`:                            `s:w filter{target_cpu==0} cpus{0,2}; s:x`,
		`s:w//exec="printf("PID=%d %s\n", pid*10, prio>120?"LO":"HI")"/`: `s:w exec{printf("PID=%d %s\n", pid*10, prio>120?"LO":"HI")}`,
		`s:w//top_by=a/`:                                                 `s:w top-by{a}`,
		`s:w/(a/2)>1/key=(a,b)/`:                                         `s:w filter{(a/2)>1} key{(a,b)}`,
		`s:w/'pid > 0'/`:                                                 `s:w filter{pid > 0}`,
		`page-faults,software:cpu-clock`:                                 `software:page-faults; software:cpu-clock`,
		`cycles,branch-misses//alias=missed/`:                            `hardware:cycles; hardware:branch-misses alias{missed}`,
	} {
		list, err := Parse(text, cpus)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, s := range list {
			got = append(got, show(s))
		}
		if g := strings.Join(got, "; "); g != want {
			t.Errorf("%s: got %s, want %s", text, g, want)
		}
	}
}

func TestParseEventsErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                    "an event name is missing",
		`Sched`:               `"Sched" is not an event`,
		`sched:`:              `"sched:" is not an event`,
		`s:a,`:                "an event name is missing",
		`s:a/pid>0`:           "the filter does not end with '/'",
		`s:a//key=pid`:        `the attribute "key=pid" does not end with '/'`,
		`s:a//kay=pid/`:       `unknown attribute "kay" (did you mean key?)`,
		`s:a//key=/`:          "attribute key needs a value",
		`s:a//stack=3/`:       "attribute stack takes no value",
		`s:a/comm=="x/`:       "the quote does not end",
		`s:a/(pid>0/`:         "a parenthesis does not close",
		`s:a//max-stack=200/`: "max-stack: got 200, want 1 to 127",
		`s:a//vm=1/`:          "vm= maps the CPUs of a guest to threads of this host",
		`s:a//cpus=9/`:        "cpus: no such CPU 9",
		`s:a//key=pid/rest`:   `the attribute "rest" does not end with '/'`,
	} {
		_, err := Parse(text, cpus)
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
			continue
		}
		if d.Hint == "" || !strings.Contains(d.Excerpt, "^") || d.Class != diag.Usage {
			t.Errorf("%q: got hint %q excerpt %q class %d, want all of them", text, d.Hint,
				d.Excerpt, d.Class)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`a:b/c/d=e/`, `a:b,c:d//stack/`, `a:b//exec="printf("x")"/`, `a:b/'c'/`, `"`, `a:b/((/`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text, cpus)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%q: got %d events and error %v", text, len(list), err)
		}
	})
}
