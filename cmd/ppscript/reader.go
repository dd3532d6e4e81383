package main

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/session/budget"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// This file reads the texts of options into values of the usual kinds.

// A reader parses the texts of options, and keeps the first error.
type reader struct {
	err error
	// plain says that the command line is one of perf-prof's, where a time without unit is in ms.
	plain bool
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func readFlag(to *bool) func(*reader, *flag) {
	return func(r *reader, f *flag) { *to = r.on(f) }
}

// on reads an option that is on or off: --system, --system=no.
func (r *reader) on(f *flag) bool {
	switch text, _ := f.last(); text {
	case "", "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	default:
		r.fail(usagef("option", "--"+f.name, "got %q, want yes or no", text).
			WithHint("write --%s or --%[1]s=no", f.name))
		return false
	}
}

// readTimes returns how often an option is given.
func readTimes(to *int) func(*reader, *flag) {
	return func(_ *reader, f *flag) { *to = len(f.texts) }
}

func readPath(to *string) func(*reader, *flag) {
	return func(r *reader, f *flag) { *to = r.path(f) }
}

// path reads an option that names a file.
func (r *reader) path(f *flag) string {
	text, _ := f.last()
	if text == "" {
		r.fail(usagef("option", "--"+f.name, "the name of the file is empty").
			WithHint("write --%s FILE", f.name))
	}
	return text
}

func readChoice(to *string) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		text, _ := f.last()
		for _, c := range f.choices {
			if text == c {
				*to = text
				return
			}
		}
		r.fail(usagef("option", "--"+f.name, "got %q, want one of %s%s", text, strings.Join(f.choices,
			", "),
			diag.DidYouMean(text, f.choices)).
			WithHint("write --%s %s", f.name, f.choices[0]))
	}
}

// readTime reads a length of time with its unit. A number without a unit is in the unit that the
// script declares, else in ms for perf-prof's profilers.
func readTime(to *time.Duration) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		bare := f.bare
		if bare == 0 && r.plain {
			bare = time.Millisecond
		}
		r.time(to, f, bare)
	}
}

// time reads a length of time; bare is the unit of a number without one, 0 if it must have one.
func (r *reader) time(to *time.Duration, f *flag, bare time.Duration) {
	text, _ := f.last()
	n, err := unit.ParseDuration(text, int64(bare))
	if err != nil {
		r.fail(usagef("option", "--"+f.name, "%w", err).
			WithHint("write --%s 500ms, or --%[1]s 2s", f.name))
	}
	*to = time.Duration(n)
}

// readDuration reads the duration of a run. A plain number is in seconds, as for sleep.
func readDuration(to *time.Duration) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		if r.time(to, f, time.Second); r.err == nil && *to <= 0 {
			r.fail(usagef("option", "--"+f.name, "got %s, want more than 0", *to).
				WithHint("leave it out for a run without end"))
		}
	}
}

// readMoment reads a time within a recording.
func readMoment(to *perfdata.Moment) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		text, _ := f.last()
		var err error
		if *to, err = perfdata.ParseMoment(text); err != nil {
			r.fail(usagef("option", "--"+f.name, "%w", err).
				WithHint("write --%s 2s for two seconds after its start", f.name))
		}
	}
}

func readCount(to *uint64, low int64, hint string) func(*reader, *flag) {
	return func(r *reader, f *flag) { *to = uint64(r.number(f, low, 1<<62, hint)) }
}

// readSeries reads how many series a result may have.
func readSeries(to *int) func(*reader, *flag) {
	return func(r *reader, f *flag) { *to = int(r.number(f, 1, 1e6, "use --metrics-series 1000")) }
}

// readURL reads the address of a server; the text is checked with the other options.
func readURL(to *string) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		if *to, _ = f.last(); *to == "" {
			r.fail(usagef("option", "--"+f.name,
				"the address is empty").WithHint("write --%s http://HOST:PORT", f.name))
		}
	}
}

// readWatermark reads the percentage of a ring at which the reader wakes. 0 on the command line means:
// wake at each event.
func readWatermark(to *int) func(*reader, *flag) {
	return func(r *reader, f *flag) { *to = max(1, int(r.number(f, 0, 100, "use --watermark 50"))) }
}

func (r *reader) number(f *flag, low, high int64, hint string) int64 {
	text, _ := f.last()
	n, err := strconv.ParseInt(text, 0, 64)
	switch {
	case err != nil:
		r.fail(usagef("option", "--"+f.name, "got %q, want a number", text).WithHint("%s", hint))
	case n < low:
		r.fail(usagef("option", "--"+f.name, "got %d, want at least %d", n, low).WithHint("%s", hint))
	case n > high:
		r.fail(usagef("option", "--"+f.name, "got %d, want at most %d", n, high).WithHint("%s", hint))
	}
	return n
}

// powerOfTwo refuses a ring size that is not a power of two.
func (r *reader) powerOfTwo(n int) {
	if n > 0 && bits.OnesCount(uint(n)) > 1 {
		lower := 1 << (bits.Len(uint(n)) - 1)
		r.fail(usagef("option", "--mmap-pages", "got %d, want a power of two", n).
			WithHint("use -m %d or -m %d", lower, 2*lower))
	}
}

// readIDs reads lists of process or thread ids.
func readIDs(to *[]int, what string) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		for _, list := range f.texts {
			for _, text := range strings.Split(list, ",") {
				n, err := strconv.Atoi(strings.TrimSpace(text))
				if err != nil || n < 1 {
					r.fail(usagef("option", "--"+f.name, "got %q, want the number of a %s", text, what).
						WithHint("write --%s 123, or several: 123,456", f.name))
					return
				}
				*to = append(*to, n)
			}
		}
	}
}

// readCPUs reads a list and compares it with the CPUs that are online.
func readCPUs(to *[]int) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		text, _ := f.last()
		cpus, err := kernel.ParseCPUList(text)
		if err != nil {
			r.fail(usagef("option", "--"+f.name, "%w", err).WithHint("write --%s 0-3,8", f.name))
			return
		}
		*to = cpus
		online, err := kernel.OnlineCPUs()
		if err != nil {
			return // the kernel will return the error
		}
		if both := kernel.Intersect(cpus, online); len(both) < len(cpus) {
			var off []int
			for _, c := range cpus {
				if len(kernel.Intersect([]int{c}, both)) == 0 {
					off = append(off, c)
				}
			}
			r.fail(usagef("option", "--"+f.name, "not online: CPU %s", kernel.FormatCPUList(off)).
				WithHint("online are %s", kernel.FormatCPUList(online)))
		}
	}
}

// readBudget reads the share of the CPUs that a run may cost.
func readBudget(to *float64) func(*reader, *flag) {
	return func(r *reader, f *flag) {
		text, _ := f.last()
		var err error
		if *to, err = budget.Parse(text); err != nil {
			r.fail(err)
		}
	}
}
