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

// recordings are the sources beside the kernel that runs here: files, and other
// machines that send their events.
type recordings struct {
	cfg  *Config
	msgs *messages
	// opening ends when nobody wants to wait any longer for the descriptions of
	// events from elsewhere: a plan asks for these events by name.
	opening context.Context
	file    *relay.Source // in place of the kernel's events; nil if those are read
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

	opt.Progress = nil // the others are read beside it
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

// pull connects to an address; a plan may name it several times.
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

// all are all sources but the kernel.
func (r *recordings) all() (all []*relay.Source) {
	if r.file != nil {
		all = append(all, r.file)
	}
	for _, m := range r.remotes {
		all = append(all, m.file)
	}
	return all
}

// info describes the recording that events come from; nil if there is none.
func (r *recordings) info() *perfdata.Info {
	if r.file == nil {
		return nil
	}
	return r.file.Info()
}

// inFull reports that all there will be of the events is there: no time
// of ours passes while they are read.
func (r *recordings) inFull() bool { return r.file != nil && !r.file.Live() }

// arch is the architecture of the events, as a GOARCH.
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

// loss counts the unreadable parts of all recordings, and of events
// sent from elsewhere.
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

// sayWarnings says what is odd about the recordings, each thing once.
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

// formatOf is the text of a recorded event's format; empty for live ones, of
// which the kernel has it.
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
