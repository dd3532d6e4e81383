package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// This file bounds the messages of peers. A client of the hub can send any message under any subject,
// and a hub can be hostile. So each message is read here, at both ends, and each of its fields has a
// bound. A name becomes part of subjects and headers: if these are too long, the server closes the
// connection for good. It is also a row of tables, and part of each result.

const (
	mostName   = 255     // bytes of the name of a host, a label, a script or a user
	mostText   = 8 << 10 // bytes of an error, a hint, a line, a value
	mostValues = 1024    // entries of a list
	mostLabels = 64
)

// mostRunning bounds the jobs in one message, on all hosts together.
const mostRunning = mostHosts

// jobID matches the number of a job, which is part of subjects.
var jobID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// A peerMessage is a message of another machine. check is an error if a field
// is beyond its bound.
type peerMessage interface{ check() error }

// read decodes a message of another machine.
func read(data []byte, m peerMessage) error {
	if err := json.Unmarshal(data, m); err != nil {
		return err
	}
	return m.check()
}

// namesFit is an error if a name is too long or has control characters. what is
// the kind of name. Empty names are valid.
func namesFit(what string, names ...string) error {
	for _, name := range names {
		if len(name) > mostName || plain.Line(name) != name {
			return fmt.Errorf("%s: got %.40q, %d bytes, want a name of at most %d without control characters",
				what, name, len(name), mostName)
		}
	}
	return nil
}

func textsFit(what string, list ...string) error {
	if len(list) > mostValues {
		return fmt.Errorf("%s: got %d, want at most %d", what, len(list), mostValues)
	}
	for _, text := range list {
		if len(text) > mostText {
			return fmt.Errorf("%s: got %d bytes, want at most %d", what, len(text), mostText)
		}
	}
	return nil
}

func labelsFit(labels map[string]string) error {
	if len(labels) > mostLabels {
		return fmt.Errorf("labels: got %d, want at most %d", len(labels), mostLabels)
	}
	for k, v := range labels {
		if err := namesFit("label", k, v); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) check() error {
	if h.Name == "" {
		return errors.New("a host without a name")
	}
	return errors.Join(namesFit("host", h.Name, h.Kernel, h.Arch, h.Version), textsFit("works", h.Works),
		labelsFit(h.Labels))
}

// seenHosts decodes a hub's message that lists hosts.
type seenHosts []HostAge

func (l seenHosts) check() error {
	for i := range l {
		if err := l[i].Host.check(); err != nil {
			return err
		}
	}
	return nil
}

func (j *Job) check() error {
	if !jobID.MatchString(j.ID) {
		return fmt.Errorf("the number of a job: got %.40q, %d bytes, want 1 to 64 letters and digits",
			j.ID, len(j.ID))
	}
	errs := []error{namesFit("script", j.Name, j.Script, j.Stored), textsFit("the asker", j.By),
		labelsFit(j.Labels), textsFit("arguments", j.Args...),
		textsFit("options", make([]string, len(j.Options))...)}
	for _, o := range j.Options {
		errs = append(errs, namesFit("option", o.Name), textsFit("values", o.Values...))
	}
	if j.Stored != "" && !sha256Text.MatchString(j.Stored) {
		errs = append(errs, errors.New("stored: want a SHA-256"))
	}
	if j.Tree != nil && len(j.Tree.Parts) > mostLevels+1 {
		errs = append(errs, errRoute)
	}
	return errors.Join(errs...)
}

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (a *Answer) check() error {
	return errors.Join(namesFit("host", a.Host), textsFit("error", a.Error, a.Hint))
}

func (e *JobEnd) check() error {
	return errors.Join(namesFit("host", e.Host), textsFit("error", e.Error))
}

func (q *Query) check() error {
	if !jobID.MatchString(q.ID) {
		return fmt.Errorf("the number of a query: got %.40q, want 1 to 64 letters and digits", q.ID)
	}
	return namesFit("job", q.Job)
}

// runningJobs decodes a host's message that lists its jobs.
type runningJobs []Running

func (l runningJobs) check() error {
	if len(l) > mostValues {
		return fmt.Errorf("jobs: got %d, want at most %d", len(l), mostValues)
	}
	for i := range l {
		r := &l[i]
		err := errors.Join(namesFit("job", r.Host, r.Job), textsFit("the asker", r.By),
			textsFit("log", r.Log...), textsFit("error", r.Error))
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *mate) check() error {
	if m.Name == "" {
		return errors.New("a merger without a name")
	}
	return namesFit("merger", m.Name)
}

func (a *Again) check() error {
	if a.Of < 0 || a.Of > mostParts {
		return errors.New("again: got too many portions")
	}
	return nil
}

func (t *FrameAnswer) check() error {
	for i := range t.Without {
		if err := namesFit("host", t.Without[i].Host); err != nil {
			return err
		}
	}
	return nil
}

// refusedJob is the error of a job with a field beyond its bound.
func refusedJob(err error) error {
	if err == nil {
		return nil
	}
	return diag.Errorf(diag.Usage, "hear", "a job", "%w", err).WithHint("ask with ppscript fleet run")
}

// short cuts a text of this machine to a length that other machines accept.
func short(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText-4], "") + " ..."
}
