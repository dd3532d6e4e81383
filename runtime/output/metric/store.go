package metric

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Other is the value of all labels in the row for keys beyond the bound.
const Other = "__other__"

// DefaultSeries is the default bound on the keys of a result that have their
// own series.
const DefaultSeries = 1000

// A Kind says how values of a metric behave: a Counter only grows, a Gauge is a
// value of the newest interval, a Distribution is a histogram whose counts only
// grow.
type Kind uint8

const (
	Counter Kind = iota
	Gauge
	Distribution
)

// A Family is a metric: series of one name with different values of labels.
type Family struct {
	Name, Help string
	Kind       Kind
	Unit       Unit
	Labels     []string
	Series     []Series
}

// A Series is one value of a metric, or one distribution.
type Series struct {
	Labels []string // values of Family.Labels
	Value  float64
	Hist   *Hist // for a Distribution, else nil
}

// A Store holds the metrics of the scripts that run. Its methods may be called at any time
// from any goroutine.
type Store struct {
	Limit int       // bound on the keys of a result
	Start time.Time // time when counting began

	mu      sync.Mutex
	scripts []*Recorder
	names   map[string]string // owner of each metric's name
	more    []func() []Family // metrics of others
}

// Tell adds a function that returns further metrics for each Snapshot.
func (s *Store) Tell(more func() []Family) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = append(s.more, more)
}

// NewStore makes an empty store; limit 0 is DefaultSeries.
func NewStore(limit int) *Store {
	return &Store{Limit: cmp.Or(limit, DefaultSeries), Start: time.Now(), names: map[string]string{}}
}

// Script returns the recorder of a script. It keeps its counters if the script runs
// again.
func (s *Store) Script(name string) *Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.scripts {
		if r.name == name {
			return r
		}
	}
	r := &Recorder{store: s, name: name, prefix: "ppscript_" + scriptWord(name)}
	s.scripts = append(s.scripts, r)
	return r
}

// Forget removes a script and its metrics.
func (s *Store) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts = slices.DeleteFunc(s.scripts, func(r *Recorder) bool { return r.name == name })
	for metric, owner := range s.names {
		if strings.HasPrefix(owner, name+"\x00") {
			delete(s.names, metric)
		}
	}
}

// claim makes a name unique, since names of different columns may be equal after
// nameWord.
func (s *Store) claim(name, suffix, owner string) string {
	for i := 1; ; i++ {
		unique := name + suffix
		if i > 1 {
			unique = name + "_" + strconv.Itoa(i) + suffix
		}
		if by, taken := s.names[unique]; !taken || by == owner {
			s.names[unique] = owner
			return unique
		}
	}
}

// Snapshot returns all current metrics, sorted by name. It is not changed later.
func (s *Store) Snapshot() []Family {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.self()
	for _, r := range s.scripts {
		for _, g := range r.results {
			list = append(list, g.snapshot()...)
		}
	}
	for _, more := range s.more {
		list = append(list, more()...)
	}
	slices.SortStableFunc(list, func(a, b Family) int { return strings.Compare(a.Name, b.Name) })
	whole := list[:0]
	for _, f := range list {
		if last := len(whole) - 1; last >= 0 && whole[last].Name == f.Name {
			whole[last].Series = append(whole[last].Series, f.Series...)
		} else {
			whole = append(whole, f)
		}
	}
	return whole
}

// self returns the metrics about the scripts' runs and ppscript itself.
func (s *Store) self() []Family {
	script := []string{"script"}
	events := Family{Name: "ppscript_events_total", Help: "Events that reached the script.",
		Labels: script}
	loss := Family{Name: "ppscript_loss_total", Labels: []string{"script", "result", "kind"},
		Help: "Events missing in a result, by kind: lost, dropped, late, truncated, unmatched, broken, " +
			"evicted, errors, throttled, ended_early. One loss may touch several results."}
	up := Family{Name: "ppscript_script_up", Kind: Gauge, Labels: script, Help: "1 while the script runs."}
	failed := Family{Name: "ppscript_script_failures_total", Labels: script,
		Help: "How often the script ended with an error."}
	until := Family{Name: "ppscript_interval_end_timestamp_seconds", Kind: Gauge, Unit: Seconds,
		Labels: script, Help: "When the newest interval of the script ended."}
	lines := Family{Name: "ppscript_log_lines_total", Labels: []string{"script", "result"},
		Help: "Events that the script shows as lines."}
	costs := Family{Name: "ppscript_script_cost_ratio", Kind: Gauge, Labels: []string{"script", "kind"},
		Help: "The cost of observing in the newest interval, as a share of the time of all CPUs: of " +
			"ppscript itself (own), for the observed threads (traced), and the allowed cost (budget)."}
	sampled := Family{Name: "ppscript_script_sampled_ratio", Kind: Gauge, Labels: []string{"script", "kind"},
		Help: "The share of events, or of keys, that were counted in the newest interval (events), and " +
			"the share of time in which events were counted (time): below 1, numbers are estimates."}
	for _, r := range s.scripts {
		own := []string{r.name}
		if c := r.cost; c != nil {
			tell := func(f *Family, kind string, share float64) {
				f.Series = append(f.Series, Series{Labels: []string{r.name, kind}, Value: share})
			}
			tell(&costs, "own", c.Own)
			if c.Budget > 0 {
				tell(&costs, "budget", c.Budget)
				tell(&costs, "traced", c.Traced)
				tell(&sampled, "events", c.Events)
				tell(&sampled, "time", c.Time)
			}
		}
		events.Series = append(events.Series, Series{Labels: own, Value: float64(r.events)})
		failed.Series = append(failed.Series, Series{Labels: own, Value: float64(r.failures)})
		running := 0.0
		if r.running {
			running = 1
		}
		up.Series = append(up.Series, Series{Labels: own, Value: running})
		if !r.until.IsZero() {
			until.Series = append(until.Series,
				Series{Labels: own, Value: float64(r.until.UnixMilli()) / 1e3})
		}
		for i := range r.losses {
			l := &r.losses[i]
			for k, n := range l.counts {
				loss.Series = append(loss.Series,
					Series{Labels: []string{r.name, l.result, lossNames[k].Name}, Value: float64(n)})
			}
		}
		for i := range r.logs {
			lines.Series = append(lines.Series,
				Series{Labels: []string{r.name, r.logs[i].name}, Value: float64(r.logs[i].lines)})
		}
	}
	list := append(cost(), events, loss, up, failed)
	for _, f := range []Family{until, lines, costs, sampled} {
		if len(f.Series) > 0 {
			list = append(list, f)
		}
	}
	return list
}

// cost returns the CPU time and memory of this process.
func cost() []Family {
	var list []Family
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		list = append(list, Family{Name: "ppscript_cpu_seconds_total", Unit: Seconds,
			Labels: []string{"mode"},
			Help:   "CPU time of ppscript itself, without its kernel programs: observed threads run them.",
			Series: []Series{
				{Labels: []string{"system"}, Value: float64(ru.Stime.Nano()) / 1e9},
				{Labels: []string{"user"}, Value: float64(ru.Utime.Nano()) / 1e9},
			}})
	}
	b, err := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(b)); err == nil && len(fields) > 1 {
		if pages, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
			list = append(list, Family{Name: "ppscript_resident_memory_bytes", Kind: Gauge, Unit: Bytes,
				Help:   "Memory of ppscript itself.",
				Series: []Series{{Value: float64(pages) * float64(os.Getpagesize())}}})
		}
	}
	return list
}
