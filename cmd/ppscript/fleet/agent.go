package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// An Agent runs jobs on its machine for the askers of a fleet.
type Agent struct {
	Server  Server
	Name    string // of the machine; "": its hostname
	Labels  map[string]string
	Version string
	Program string // path of ppscript, which runs scripts
	Limits  Limits
	Policy  *Policy
	// Permit is an error if a request may not run on any machine. The error is sent to the
	// asker.
	Permit func(j *Job) error
	Say    func(line string)
	// Tell writes an entry about a job that has ended or was refused into the
	// machine's journal.
	Tell func(j *Job, began time.Time, frames uint64, err error)
	Now  func() time.Time // the machine's clock; nil is time.Now

	agentState
}

// agentState holds the state of a running agent.
type agentState struct {
	nc        *nats.Conn
	starter   starter
	began     time.Time
	traces    string
	mu        sync.Mutex
	jobs      map[string]*job
	past      []Running // ended jobs, the newest last
	lastAsked map[string]time.Time
	all       sync.WaitGroup
}

// Limits bound what jobs may do on a machine.
type Limits struct {
	Jobs     int           // number of jobs at a time
	Duration time.Duration // of one
	Interval time.Duration // at least
	Memory   string        // of one job, in the form of --memory
	Rows     int64         // of a table of one job; 0: the script's own bound
	CPU      int           // of a job's process, in percent of one CPU over 10 s; 0: no bound
	Budget   float64       // share of all CPUs that observing may cost in a job; 0: the asker's
	Waiting  int64         // bytes of a job's frames that the asker has not confirmed yet
	Lease    time.Duration // how long a job goes on without its asker; 0: lostTime
}

// mostPast bounds the ended jobs that an agent remembers.
const mostPast = 32

// Run serves until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	mine, err := a.Server.name()
	if err != nil {
		return err
	}
	a.Name = cmp.Or(a.Name, mine, hostname())
	if secret, _ := a.Server.secret(); tokenName(secret) != "" && a.Name != mine {
		return diag.Errorf(diag.Usage, "agent", a.Name, "the given secret is for host %s", mine).
			WithHint("leave --name out, or make another: ppscript hub --token-file FILE --token-for NAME")
	}
	if a.Now == nil {
		a.Now = time.Now
	}
	if a.Policy == nil {
		a.Policy = &Policy{Signers: sign.SignersFile}
	}
	a.Policy.Bound(&a.Limits)
	a.traces = "not known yet"
	a.began, a.jobs = time.Now(), map[string]*job{}
	if h := a.host(); h.check() != nil {
		return diag.Errorf(diag.Usage, "agent", a.Name, "%w", h.check()).
			WithHint("give --name and --label others")
	}
	a.starter = newStarter()
	defer close(a.starter)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	beat := make(chan struct{}, 1)
	hear := func(*nats.Conn) {
		select {
		case beat <- struct{}{}:
		default:
		}
	}
	nc, err := a.Server.connect("agent "+a.Name, a.Name, true, nats.ReconnectHandler(hear),
		nats.ConnectHandler(hear),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil && ctx.Err() == nil {
				a.Say("the hub is away: " + err.Error())
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				a.Say("the server does not let this agent publish as " + a.Name + ": " +
					plain.Line(err.Error()) +
					"; the secret, certificate or user may be for another name, see: ppscript help fleet")
			}
		}))
	if err != nil {
		return err
	}
	a.nc = nc
	defer nc.Close()
	for subject, fn := range map[string]nats.MsgHandler{
		jobSubject: func(m *nats.Msg) { a.hear(ctx, m) }, jobsSubject: a.tellJobs,
	} {
		if _, err := nc.Subscribe(subject, fn); err != nil {
			return err
		}
	}
	a.Say(fmt.Sprintf("agent %s of %s", a.Name, a.Server.URL))
	a.all.Go(func() { // it takes about a second
		works := a.works(ctx)
		a.mu.Lock()
		a.traces = works
		a.mu.Unlock()
		hear(nc)
	})
	tick := time.NewTicker(beatTime)
	defer tick.Stop()
	closed := nc.StatusChanged(nats.CLOSED)
	var lost error
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-closed:
			lost = goneForGood(nc)
			stop()
		case <-tick.C:
			a.beat(false)
		case <-beat:
			a.beat(false)
		}
	}
	a.all.Wait()
	a.beat(true)
	if nc.IsConnected() {
		_ = nc.FlushTimeout(time.Second)
	}
	return lost
}

// host describes this machine to the hub.
func (a *Agent) host() Host {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Host{Name: a.Name, Labels: a.Labels, Kernel: release(), Arch: runtime.GOARCH,
		CPUs:    runtime.NumCPU(),
		Version: a.Version, Root: os.Geteuid() == 0, Works: a.traces, Jobs: len(a.jobs), Began: a.began}
}

// beat reports to the hub that the agent is running, or with gone, that it
// ends.
func (a *Agent) beat(gone bool) {
	h := a.host()
	h.Gone = gone
	_ = a.nc.Publish(beatSubject+wordOf(a.Name), must(h)) // on an error, the next beat follows in a minute
}

// hear starts a job that an asker sent, and answers whether it runs here.
// Machines without the job's labels do not answer.
func (a *Agent) hear(ctx context.Context, m *nats.Msg) {
	var j Job
	wrong := read(m.Data, &j)
	if !jobID.MatchString(j.ID) || !fits(j.Labels, a.Labels) {
		return // the number is invalid, so no answer is possible, or the job is for other machines
	}
	answer := Answer{Host: a.Name}
	err := refusedJob(wrong)
	if err == nil {
		err = a.know(&j, m)
	}
	if err == nil {
		err = j.fetch(ctx, a.nc)
	}
	if err == nil {
		err = a.begin(ctx, &j)
	}
	if err != nil {
		answer.Error, answer.Hint = short(err.Error()), short(diag.HintOf(err))
		a.Say(fmt.Sprintf("refused %s of %s: %s", short(plain.Line(j.String())), short(plain.Line(j.By)),
			plain.Line(answer.Error)))
		a.Tell(&j, time.Now(), 0, err)
	}
	answer.Now = a.Now()
	_ = a.nc.Publish(answerSubject+j.ID+"."+wordOf(a.Name), must(answer))
}

// begin starts a job, or returns the reason why it may not run here.
func (a *Agent) begin(ctx context.Context, j *Job) error {
	if err := a.bound(j); err != nil {
		return err
	}
	if err := a.Permit(j); err != nil {
		return err
	}
	own := &job{Job: *j, agent: a, began: time.Now(), leased: time.Now(), wake: make(chan struct{}, 1)}
	if err := own.admit(); err != nil {
		return err
	}
	began := false
	defer func() {
		if !began {
			own.clean()
		}
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return diag.Errorf(diag.Run, "run", j.Name, "the agent ends").WithHint("ask again")
	case a.jobs[j.ID] != nil:
		return diag.Errorf(diag.Run, "run", j.Name, "that job runs already").WithHint("ask anew")
	case len(a.jobs) >= a.Limits.Jobs:
		return diag.Errorf(diag.Run, "run", j.Name, "%d jobs run here, and more may not", len(a.jobs)).
			WithHint("end one: ppscript fleet jobs; ppscript fleet stop ID")
	}
	a.jobs[j.ID], began = own, true
	a.all.Go(func() {
		err := own.run(ctx)
		own.clean()
		a.over(own, err)
	})
	return nil
}

// bound refuses a job beyond the limits of this machine.
func (a *Agent) bound(j *Job) error {
	l := &a.Limits
	switch {
	case j.Interval != 0 && j.Interval < l.Interval:
		return diag.Errorf(diag.Usage, "run", j.Name, "an interval of %s: got less than %s",
			j.Interval, l.Interval).
			WithHint("ask for -i %s or more", l.Interval)
	case l.Duration > 0 && j.Duration > l.Duration:
		return diag.Errorf(diag.Usage, "run", j.Name,
			"%s is more than the %s that a job may take here", j.Duration,
			l.Duration).WithHint("ask for --duration %s or less", l.Duration)
	case j.Keep > max(l.Duration, lostTime):
		return diag.Errorf(diag.Usage, "run", j.Name,
			"%s without the asker are more than the %s that a job may take here", j.Keep, l.Duration).
			WithHint("ask for --keep %s or less", l.Duration)
	case j.Duration < 0 || j.Interval < 0 || j.Keep < 0:
		return diag.Errorf(diag.Usage, "run", j.Name, "got a time below 0").WithHint("ask for a time")
	}
	return nil
}

// over records that a job has ended.
func (a *Agent) over(j *job, err error) {
	a.mu.Lock()
	delete(a.jobs, j.ID)
	r := j.running()
	r.Over = true
	if err != nil {
		r.Error = short(err.Error())
	}
	if a.past = append(a.past, r); len(a.past) > mostPast {
		a.past = slices.Delete(a.past, 0, 1)
	}
	a.mu.Unlock()
	a.Tell(&j.Job, j.began, r.Frames, err)
}

// tellJobs answers a Query with the jobs of this machine. If the query has the number of a job, the
// answer has the job's messages, even after its end.
func (a *Agent) tellJobs(m *nats.Msg) {
	var q Query
	if read(m.Data, &q) != nil {
		return
	}
	a.mu.Lock()
	var list []Running
	for _, j := range a.jobs {
		if r := j.running(); q.Job == "" || q.Job == r.Job {
			list = append(list, r)
		}
	}
	for _, r := range a.past {
		if q.Job == r.Job {
			list = append(list, r)
		}
	}
	a.mu.Unlock()
	if q.Job == "" {
		for i := range list {
			list[i].Log = nil
		}
	}
	if len(list) > 0 {
		_ = a.nc.Publish(runningSubject+q.ID+"."+wordOf(a.Name), must(list))
	}
}
