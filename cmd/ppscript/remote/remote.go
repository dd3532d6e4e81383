// Package remote sends results to monitoring systems. It makes the sinks (receivers of
// results) for --otlp, --otlp-profiles and --pyroscope, and for /metrics on the server of
// --http.
package remote

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"ppscript/runtime/output"
	"ppscript/runtime/output/metric"
	"ppscript/runtime/output/otlp"
	"ppscript/runtime/output/prometheus"
	"ppscript/runtime/output/push"
	"ppscript/runtime/output/pyroscope"
)

// Options has the values of the options; "" means that an option was not given.
type Options struct {
	OTLP, OTLPProfiles, Pyroscope string
	Series                        int // bound on the metric series of one result; 0 is the default
}

// Check finds mistakes in the values.
func (o *Options) Check() error {
	for _, x := range []struct{ option, url string }{
		{otlp.MetricsOption, o.OTLP}, {otlp.ProfilesOption, o.OTLPProfiles},
	} {
		if x.url == "" {
			continue
		}
		if err := otlp.Check(x.option, x.url); err != nil {
			return err
		}
	}
	if o.Pyroscope != "" {
		return pyroscope.Check(o.Pyroscope)
	}
	return nil
}

// Profiles reports that stacks are sent to a server.
func (o *Options) Profiles() bool { return o.OTLPProfiles != "" || o.Pyroscope != "" }

// A Handler is a server at which others can register an HTTP handler for a
// path.
type Handler interface {
	Handle(path string, h http.Handler)
}

// Sinks returns openers of the sinks for one script. server is the server of --http, nil
// without.
func (o *Options) Sinks(script string, server Handler, say func(line string)) ([]output.Opener, error) {
	var list []output.Opener
	if o.OTLP != "" || server != nil {
		store := metric.NewStore(o.Series)
		list = append(list, opener("metrics", "", func() (output.Sink, error) {
			return store.Script(script),
				nil
		}))
		if server != nil {
			h, err := prometheus.Handler(store, say)
			if err != nil {
				return nil, err
			}
			server.Handle("/metrics", h)
		}
		if o.OTLP != "" {
			list = append(list, opener(otlp.MetricsOption, o.OTLP, func() (output.Sink, error) {
				s, err := otlp.Open(otlp.MetricsOption, o.OTLP, say)
				if err != nil {
					return nil, err
				}
				Tell(store, otlp.MetricsOption, s)
				return otlp.MetricsOf(s, store), nil
			}))
		}
	}
	return append(list, o.profiles(say)...), nil
}

func (o *Options) profiles(say func(line string)) (list []output.Opener) {
	if o.OTLPProfiles != "" {
		list = append(list, opener(otlp.ProfilesOption, o.OTLPProfiles, func() (output.Sink, error) {
			s, err := otlp.Open(otlp.ProfilesOption, o.OTLPProfiles, say)
			if err != nil {
				return nil, err
			}
			return output.SendStacks(s), nil
		}))
	}
	if o.Pyroscope != "" {
		list = append(list, opener(pyroscope.Option, o.Pyroscope, func() (output.Sink, error) {
			s, err := pyroscope.Open(o.Pyroscope, say)
			if err != nil {
				return nil, err
			}
			return output.SendStacks(s), nil
		}))
	}
	return list
}

func opener(option, where string, open func() (output.Sink, error)) output.Opener {
	return output.Opener{Option: option, Where: where,
		Open: func(context.Context) (output.Sink, error) { return open() }}
}

// Tell adds a metric to a store: how many messages were sent, refused, given up
// or retried.
func Tell(store *metric.Store, option string, s interface{ Stats() push.Stats }) {
	store.Tell(func() []metric.Family {
		st := s.Stats()
		f := metric.Family{Name: "ppscript_pushes_total", Labels: []string{"output", "outcome"},
			Help: "Messages to servers, by what became of them."}
		for _, x := range []struct {
			outcome string
			n       uint64
		}{{"sent", st.Sent}, {"refused", st.Refused}, {"given_up", st.GivenUp}, {"retried", st.Retries}} {
			f.Series = append(f.Series, metric.Series{Labels: []string{option, x.outcome},
				Value: float64(x.n)})
		}
		return []metric.Family{f}
	})
}

// A Hub shares the connections to servers among several scripts that run at the
// same time.
type Hub struct {
	Store    *metric.Store
	otlp     *otlp.Server // for metrics; nil without --otlp
	profiles []output.Opener
	all      []interface{ Close() error }
}

// Open connects to the servers that the options name.
func (o *Options) Open(say func(line string)) (*Hub, error) {
	h := &Hub{Store: metric.NewStore(o.Series)}
	var err error
	if o.OTLP != "" {
		if h.otlp, err = otlp.Open(otlp.MetricsOption, o.OTLP, say); err != nil {
			return nil, err
		}
		h.add(otlp.MetricsOption, h.otlp)
	}
	if o.OTLPProfiles != "" {
		s, err := otlp.Open(otlp.ProfilesOption, o.OTLPProfiles, say)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		h.add(otlp.ProfilesOption, s)
		h.share(otlp.ProfilesOption, o.OTLPProfiles, func() output.Sink { return output.SendStacks(s) })
	}
	if o.Pyroscope != "" {
		s, err := pyroscope.Open(o.Pyroscope, say)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		h.add(pyroscope.Option, s)
		h.share(pyroscope.Option, o.Pyroscope, func() output.Sink { return output.SendStacks(s) })
	}
	return h, nil
}

type server interface {
	Stats() push.Stats
	Close() error
}

func (h *Hub) add(option string, s server) {
	h.all = append(h.all, s)
	Tell(h.Store, option, s)
}

func (h *Hub) share(option, where string, open func() output.Sink) {
	h.profiles = append(h.profiles, opener(option, where, func() (output.Sink, error) {
		s := open()
		return scriptSink{s, s.(output.Profiler)}, nil
	}))
}

// A scriptSink is a sink for one script. Its Close does nothing, since other
// scripts still use the server.
type scriptSink struct {
	output.Sink
	output.Profiler
}

// Close implements output.Sink.
func (scriptSink) Close() error { return nil }

// Sinks returns openers of the sinks for one of the scripts.
func (h *Hub) Sinks(script string) []output.Opener {
	return append([]output.Opener{
		opener("metrics", "", func() (output.Sink, error) { return h.Store.Script(script), nil }),
	}, h.profiles...)
}

// Push sends the current metrics, if there is a server for them.
func (h *Hub) Push() {
	if h.otlp != nil {
		h.otlp.SendMetrics(h.Store)
	}
}

// Close sends what is queued and closes the connections. Its error says what did
// not arrive.
func (h *Hub) Close() error {
	errs := make([]error, len(h.all))
	var all sync.WaitGroup // at the same time, since each may wait for some seconds
	for i, s := range h.all {
		all.Go(func() { errs[i] = s.Close() })
	}
	all.Wait()
	return errors.Join(errs...)
}
