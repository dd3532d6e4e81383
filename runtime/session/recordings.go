package session

import (
	"context"
	"errors"
	"ppscript/runtime/plan"
	"runtime"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/target/cgroup"
	"ppscript/runtime/target/task"
)

// recordings has the sources of events that are not this machine's kernel:
// files, and other machines that send events.
type recordings struct {
	cfg  *Config
	msgs *messages
	// opening bounds the time to connect to other machines and get the
	// descriptions of their events, which a plan needs to find events by name.
	opening context.Context
	file    *relay.Source // the recording that is read; nil in a live run
	remotes []*remote
}

// open opens the recordings that the user names.
func (r *recordings) open() error {
	o := &r.cfg.Options
	if o.Recording.Path == "" {
		return nil
	}
	opt := perfdata.Options{Ordered: true, MaxPending: o.Reading.OrderBytes, Progress: o.Recording.Read}
	var err error
	if r.file, err = relay.Open(r.opening, o.Recording.Path, opt); err != nil {
		return err
	}

	opt.Progress = nil // progress is shown for the first file only
	for _, path := range o.Recording.More {
		file, err := relay.Open(r.opening, path, opt)
		if err != nil {
			return errors.Join(err, r.close())
		}
		r.add(path, file)
	}
	return nil
}

func (r *recordings) close() error {
	var errs []error
	for _, m := range r.remotes {
		for _, line := range m.file.Warnings() {
			r.msgs.sayOnce(m.name + ": " + line)
		}
		errs = append(errs, m.file.Close())
	}
	if r.file != nil {
		errs = append(errs, r.file.Close())
	}
	return errors.Join(errs...)
}

func (r *recordings) add(name string, file *relay.Source) *remote {
	m := &remote{name: name, file: file, tasks: task.New(task.Options{NoProc: true}),
		cgroups: cgroups{table: cgroup.Empty()}}
	r.remotes = append(r.remotes, m)
	return m
}

// pull connects to an address, or returns the existing connection if the plan
// names the address several times.
func (r *recordings) pull(from string) (*remote, error) {
	for _, m := range r.remotes {
		if m.name == from {
			return m, nil
		}
	}
	if err := r.cfg.permit(plan.Receiving(from)); err != nil {
		return nil, err
	}
	how := &r.cfg.Options.Reading
	file, err := relay.Receive(r.opening, from, relay.How{Token: how.Token, TLS: how.TLS,
		Bytes: how.OrderBytes, Say: r.msgs.say})
	if err != nil {
		return nil, err
	}
	m := r.add(from, file)
	m.streamed = true
	return m, nil
}

// all lists all sources other than the kernel.
func (r *recordings) all() (all []*relay.Source) {
	if r.file != nil {
		all = append(all, r.file)
	}
	for _, m := range r.remotes {
		all = append(all, m.file)
	}
	return all
}

// info describes the recording; nil in a live run.
func (r *recordings) info() *perfdata.Info {
	if r.file == nil {
		return nil
	}
	return r.file.Info()
}

// inFull reports that the recording is complete, so that limits on time refer
// to its events and not to this machine's clock.
func (r *recordings) inFull() bool { return r.file != nil && !r.file.Live() }

// arch returns the architecture of the events, as a GOARCH.
func (r *recordings) arch() string {
	if r.file == nil {
		return runtime.GOARCH
	}
	switch r.file.Info().Arch {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return runtime.GOARCH
}

// loss counts the unreadable parts of all recordings and of events from other
// machines.
func (r *recordings) loss() event.Loss {
	var l event.Loss
	if r.file != nil {
		l.Add(r.file.Loss())
	}
	for _, m := range r.remotes {
		l.Add(m.file.Loss())
	}
	return l
}

// sayWarnings shows the warnings about the recordings, each once.
func (r *recordings) sayWarnings() {
	if r.file != nil {
		for _, line := range r.file.Warnings() {
			r.msgs.sayOnce(r.cfg.Options.Recording.Path + ": " + line)
		}
	}
	for _, m := range r.remotes {
		for _, line := range m.file.Warnings() {
			r.msgs.sayOnce(m.name + ": " + line)
		}
	}
}

// formatOf returns the system and the format text of a recorded event. The text
// is empty for live events, whose format the kernel has.
func (r *recordings) formatOf(s *event.Schema) (system, text string) {
	if r.file == nil {
		return s.System, ""
	}
	for _, info := range r.file.StreamInfos() {
		if info.Schema != nil && info.Schema.FullName() == s.FullName() {
			return info.System, info.Format
		}
	}
	return s.System, ""
}
