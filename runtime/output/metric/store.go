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

// Other is the value of all labels of the row for keys beyond the bound.
const Other = "__other__"

// DefaultSeries is how many keys of a result have series of their own.
const DefaultSeries = 1000

// A Kind is what a metric's values mean.
type Kind uint8

const (
	Counter Kind = iota
	Gauge
	Distribution
)

// A Family is a metric: series of one name, told apart by labels.
type Family struct {
	Name, Help string
	Kind       Kind
	Unit       Unit
	Labels     []string
	Series     []Series
}

// A Series is one value of a metric, or one distribution.
type Series struct {
	Labels []string // values, by Family.Labels
	Value  float64
	Hist   *Hist // of a Distribution
}

// A Store holds the metrics of the scripts that run. Its methods may be called at any time
// from any goroutine.
type Store struct {
	Limit int       // of keys of a result; 0 is DefaultSeries
	Start time.Time // when counting began

	mu      sync.Mutex
	scripts []*Recorder
	names   map[string]string // whose each name is
	more    []func() []Family // of others
}

// Tell has others tell metrics of their own.
func (s *Store) Tell(more func() []Family) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = append(s.more, more)
}

// NewStore makes an empty store.
func NewStore(limit int) *Store {
	return &Store{Limit: cmp.Or(limit, DefaultSeries), Start: time.Now(), names: map[string]string{}}
}

// Script returns the recorder of a script, which keeps its counters when the script
// begins again.
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

// Forget takes a script out, with its metrics.
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

// claim makes a name unique: two columns may have names that look the same here.
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

// Snapshot is all metrics as they are now, ordered by name. Nothing in it changes any more.
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

// self is what there is to tell of the scripts and of ppscript itself.
func (s *Store) self() []Family {
	script := []string{"script"}
	events := Family{Name: "ppscript_events_total", Help: "Events that reached the script.",
		Labels: script}
	loss := Family{Name: "ppscript_loss_total", Labels: []string{"script", "result", "kind"},
		Help: "What a result lacks, by kind: lost, dropped, late, truncated, unmatched, broken, evicted, " +
			"errors, throttled, ended_early. One loss may touch several results."}
	up := Family{Name: "ppscript_script_up", Kind: Gauge, Labels: script, Help: "1 while the script runs."}
	failed := Family{Name: "ppscript_script_failures_total", Labels: script,
		Help: "How often the script ended by an error."}
	until := Family{Name: "ppscript_interval_end_timestamp_seconds", Kind: Gauge, Unit: Seconds,
		Labels: script, Help: "When the newest interval of the script ended."}
	lines := Family{Name: "ppscript_log_lines_total", Labels: []string{"script", "result"},
		Help: "Events that the script shows as lines."}
	costs := Family{Name: "ppscript_script_cost_ratio", Kind: Gauge, Labels: []string{"script", "kind"},
		Help: "What observing cost in the newest interval, as a share of the time of all CPUs: of ppscript itself " +
			"(own), of those that are observed (traced), and what it may cost (budget)."}
	sampled := Family{Name: "ppscript_script_sampled_ratio", Kind: Gauge, Labels: []string{"script", "kind"},
		Help: "How many of the events, or keys, of the newest interval counted (events), and in which part of the " +
			"time any did (time): below 1, numbers are estimates."}
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

// cost is what this process costs.
func cost() []Family {
	var list []Family
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		list = append(list, Family{Name: "ppscript_cpu_seconds_total", Unit: Seconds,
			Labels: []string{"mode"},
			Help:   "CPU time of ppscript itself; the work of its programs in the kernel is the observed threads'.",
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
