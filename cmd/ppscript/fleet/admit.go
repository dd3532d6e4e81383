package fleet

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/text/diag"
)

// This file checks a job before it runs, and bounds the CPU time that it takes.

const (
	// jobText names the kind of text that a job's signature signs; it is part
	// of the signed text.
	jobText = "ppscript fleet job 1"
	// freshTime is the maximum age of a signed job. An agent remembers the job's number for
	// longer, so that nobody can replay the job.
	freshTime = 2 * time.Minute
)

// know refuses a job that is not signed by a key that the policy names. A
// policy without askers permits all jobs.
func (a *Agent) know(j *Job, m *nats.Msg) error {
	askers := a.Policy.Askers
	if len(askers) == 0 {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return diag.Errorf(diag.Usage, "run", j.Name, format, args...).
			WithHint("sign it with a key that the host's %s names: ppscript fleet run --key FILE",
				a.Policy.Path)
	}
	signers, err := sign.ReadSigners(a.Policy.Signers)
	if err != nil {
		return err
	}
	if m.Header.Get(signHeader) == "" {
		return refuse("nobody signed the job")
	}
	public, err1 := base64.StdEncoding.DecodeString(m.Header.Get(keyHeader))
	signature, err2 := base64.StdEncoding.DecodeString(m.Header.Get(signHeader))
	if err1 != nil || err2 != nil {
		return refuse("that is no signature")
	}
	by, ok := signers.SignedText(jobText, m.Data, public, signature)
	switch {
	case by.Public == nil:
		return refuse("its key is not among the %d keys of %s", len(signers.Keys), signers.Path)
	case !ok:
		return refuse("it was changed after %s signed it", by.Name)
	case !slices.Contains(askers, by.Name) && !slices.Contains(askers, by.Fingerprint()):
		return refuse("%s may not ask this host", by.Name)
	}
	now := time.Now()
	if age := now.Sub(j.At); age > freshTime || age < -freshTime {
		return refuse("it was signed %s ago by this host's clock, which is too long ago",
			age.Round(time.Second))
	}
	if j.At.Before(a.began) { // the previous agent may have run it
		return refuse("it was signed before the agent began")
	}
	j.By = by.Name + " (" + j.By + ")"
	return a.once(j, now)
}

// once refuses a signed job that arrived before.
func (a *Agent) once(j *Job, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, at := range a.lastAsked {
		if now.Sub(at) > 2*freshTime {
			delete(a.lastAsked, id)
		}
	}
	if _, ok := a.lastAsked[j.ID]; ok {
		return diag.Errorf(diag.Usage, "run", j.Name, "that job was sent before").WithHint("ask anew")
	}
	if a.lastAsked == nil {
		a.lastAsked = map[string]time.Time{}
	}
	a.lastAsked[j.ID] = now
	return nil
}

// admit unpacks the job's script, if it was sent with the job, and checks the
// job against the machine's policy.
func (j *job) admit() (err error) {
	p := j.agent.Policy
	if j.Bundle != nil {
		if j.dir, j.by, err = j.Bundle.unpack(p.Signers); err != nil {
			j.dir = ""
			return err
		}
	}
	if err := p.Permit(&j.Job, j.by); err != nil {
		j.clean()
		return err
	}
	return nil
}

// clean removes the unpacked files.
func (j *job) clean() {
	if j.dir != "" {
		_ = os.RemoveAll(j.dir) // an error leaves files in the directory for temporary files
		j.dir = ""
	}
}

// arguments returns the command line of the process that runs the job. own are the agent's options.
// The agent's options come first: an option of the asker without a value would take the next word
// as its value. The script's arguments come last: an argument that the script does not declare
// would begin a command, to which all later words belong.
func (j *job) arguments(own ...string) []string {
	args := j.options()
	l := &j.agent.Limits
	if l.Rows > 0 {
		args = bounded(args, "max-rows", strconv.FormatInt(l.Rows, 10), func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			return err == nil && n > 0 && n <= l.Rows
		})
	}
	if l.Budget > 0 {
		most := strconv.FormatFloat(100*l.Budget, 'g', -1, 64) + "%"
		args = bounded(args, budgetOption, most, func(text string) bool {
			share, err := budget.Parse(text)
			return err == nil && share != budget.Off && share <= l.Budget
		})
	}
	begin := []string{j.Name}
	if j.dir != "" {
		begin = []string{"fleet", "exec", j.dir}
		if p := j.agent.Policy; p != nil {
			begin = append(begin, "--require-signed")
			if p.Signers != sign.SignersFile {
				begin = append(begin, "--signers="+p.Signers)
			}
		}
	}
	return slices.Concat(begin, own, args, j.Args)
}

// budgetOption is the name of the option --budget of a job. If neither the asker nor the machine
// sets it, a run that writes partial results has the default budget.
const budgetOption = "budget"

// bounded replaces each value of an option that is not within the bound by the bound. An
// option without a value gets the bound.
func bounded(args []string, name, most string, within func(text string) bool) []string {
	prefix, found := "--"+name+"=", false
	for i, word := range args {
		if text, ok := strings.CutPrefix(word, prefix); ok {
			if found = true; !within(text) {
				args[i] = prefix + most
			}
		}
	}
	if !found {
		args = append(args, prefix+most)
	}
	return args
}

func (j *job) setPID(pid int) {
	j.mu.Lock()
	j.pid = pid
	j.mu.Unlock()
}

// cpuTime is the interval over which a share of a CPU is measured.
const cpuTime = 10 * time.Second

// cpuWatch measures the share of a CPU that a process uses.
type cpuWatch struct {
	most   int // percent; 0 is no bound
	since  time.Time
	before time.Duration
}

// check is an error if the process has used more than its share. It measures at
// most once in cpuTime.
func (w *cpuWatch) check(pid int, now time.Time) error {
	if w.most == 0 || pid == 0 || !w.since.IsZero() && now.Sub(w.since) < cpuTime {
		return nil
	}
	used, ok := cpuOf(pid)
	if !ok {
		return nil // it has ended
	}
	first, took, over := w.since.IsZero(), used-w.before, now.Sub(w.since)
	w.since, w.before = now, used
	if share := int(100 * took / max(over, 1)); !first && share > w.most {
		return fmt.Errorf("it took %d%% of a CPU for %s, and may take %d%% here", share,
			over.Round(time.Second), w.most)
	}
	return nil
}

// cpuOf returns the CPU time of a process.
func cpuOf(pid int) (time.Duration, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	end := bytes.LastIndexByte(text, ')') // its name may contain any byte
	fields := bytes.Fields(text[end+1:])
	if err != nil || end < 0 || len(fields) < 13 {
		return 0, false
	}
	// These fields are in hundredths of a second (USER_HZ) on all architectures.
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, err1 == nil && err2 == nil
}
