// Package remote makes the sinks of the options by which results go to monitoring systems:
// /metrics on the server of --http, --otlp, --otlp-profiles and --pyroscope.
package remote

import (
	"context"
	"net/http"

	"ppscript/runtime/output"
	"ppscript/runtime/output/metric"
	"ppscript/runtime/output/otlp"
	"ppscript/runtime/output/prometheus"
	"ppscript/runtime/output/push"
	"ppscript/runtime/output/pyroscope"
)

// Options are the values of the options; "" is none.
type Options struct {
	OTLP, OTLPProfiles, Pyroscope string
	Series                        int // of a result, at most; 0 is the default
}

// Check finds mistakes in what the user wrote.
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

// Profiles says that stacks are sent.
func (o *Options) Profiles() bool { return o.OTLPProfiles != "" || o.Pyroscope != "" }

// A Handler lets others serve something at a path of a server.
type Handler interface {
	Handle(path string, h http.Handler)
}

// Sinks are the openers of the sinks for one script. Server is that of --http, nil without.
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
			return otlp.ProfilesOf(s), nil
		}))
	}
	if o.Pyroscope != "" {
		list = append(list, opener(pyroscope.Option, o.Pyroscope, func() (output.Sink, error) {
			s, err := pyroscope.Open(o.Pyroscope, say)
			if err != nil {
				return nil, err
			}
			return pyroscope.ProfilesOf(s), nil
		}))
	}
	return list
}

func opener(option, where string, open func() (output.Sink, error)) output.Opener {
	return output.Opener{Option: option, Where: where,
		Open: func(context.Context) (output.Sink, error) { return open() }}
}

// Tell has a store tell what becomes of what is sent.
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
