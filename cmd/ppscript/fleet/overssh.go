package fleet

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"ppscript/cmd/ppscript/fleet/sshlink"
	"ppscript/runtime/session"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// This file runs jobs on machines without agents. A copy of this program on each machine does the
// work of an agent (remote.go), and sends its frames over the standard output of ssh.

// Kinds of messages over ssh.
const (
	jobMessage    = 'j' // to the copy: a Job
	leaseMessage  = 'l' // to the copy: the asker is still there
	answerMessage = 'a' // from the copy: an Answer
	partMessage   = 'p' // from the copy: the number of dropped frames as a varint, and a frame
	endMessage    = 'e' // from the copy: a JobEnd
)

// A Shell has the machines that are reached by ssh, and the connections with
// them.
type Shell struct {
	File string // file with the hosts; "": ssh is not used
	sshlink.Dialer

	links  []*sshlink.Link
	failed []sshlink.Failure
}

// flags declares the options of ssh.
func (s *Shell) flags(fs *pflag.FlagSet) {
	fs.StringVar(&s.File, "ssh", "",
		"`FILE` with hosts to reach by ssh, instead of hosts with agents; lines of NAME LABEL=VALUE...")
	fs.StringArrayVar(&s.Options, "ssh-option", nil, "`NAME=VALUE` for ssh, such as Port=2222")
	fs.StringVar(&s.Config, "ssh-config", "", "`FILE` with settings of ssh, in place of yours")
	fs.BoolVar(&s.Keep, "ssh-keep", false, "leave the copy of this program on the hosts, for the next run")
	fs.BoolVar(&s.Sudo, "ssh-sudo", false, "start it there by sudo -n")
	fs.StringArrayVar(&s.Programs, "ssh-program", nil,
		"`FILE` with a ppscript for hosts of the other architecture")
	fs.IntVar(&s.AtOnce, "ssh-at-once", 16, "connect and copy to at most `N` hosts at a time")
}

// ByShell reports that machines are reached by ssh, so that scripts need no
// signature.
func (a *Asker) ByShell() bool { return a.Shell.File != "" }

// Connect connects to the machines that are reached by ssh. It starts ssh processes, so it must be
// called before the sandbox, in which Run can start none. The caller calls Close.
func (a *Asker) Connect(ctx context.Context, cfg *session.Config) error {
	s := &a.Shell
	if !a.ByShell() {
		return nil
	}
	all, err := sshlink.ReadHosts(s.File)
	if err != nil {
		return err
	}
	hosts := slices.DeleteFunc(all, func(h sshlink.Host) bool { return !fits(a.Labels, h.Labels) })
	if len(hosts) == 0 {
		return diag.Errorf(diag.Usage, "ask", s.File, "no host there has the labels").
			WithHint("write a host on each line, as ssh knows it, then its labels: db1 role=db rack=r7")
	}
	over := moves(cfg.Stage, "connect with hosts")
	s.links, s.failed, err = s.Dial(ctx, hosts)
	if over(); err != nil {
		return err
	}
	sayGroups(s.failed, cfg.Messages)
	if len(s.links) == 0 {
		return diag.Errorf(diag.Run, "ask", s.File, "no host can be asked").
			WithHint("try one by hand: ssh -o BatchMode=yes %s true", hosts[0].Name)
	}
	return nil
}

// sayGroups prints the hosts that cannot be asked, grouped by their error.
func sayGroups(failed []sshlink.Failure, say func(string)) {
	who, hint := map[string][]string{}, map[string]string{}
	for _, f := range failed {
		text := f.Err.Error()
		who[text] = append(who[text], f.Host.Name)
		hint[text] = diag.HintOf(f.Err)
	}
	for _, text := range slices.Sorted(maps.Keys(who)) {
		say(plain.Line("not asked: " + names(who[text]) + ": " + text))
		if hint[text] != "" {
			say(plain.Line("hint: " + hint[text]))
		}
	}
}

// Close closes the connections of Connect.
func (a *Asker) Close() {
	s := &a.Shell
	var all sync.WaitGroup
	for _, l := range s.links {
		all.Go(func() { _ = l.Close() }) // errors were reported before
	}
	all.Wait()
}

// A shellRun is one run of an Asker over ssh.
type shellRun struct {
	asker    *Asker
	q        *Question
	c        *collector
	job      *Job
	arrivals chan arrival
	answers  chan Answer
	over     context.Context // ends when arrivals are no longer read
	all      sync.WaitGroup
}

// runShell runs the job on all connected machines.
func (a *Asker) runShell(ctx context.Context, q *Question) (session.Outcome, error) {
	none := session.Outcome{Status: -1}
	c, err := newCollector(q, a)
	if err != nil {
		return none, err
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	r := &shellRun{asker: a, q: q, c: c, job: a.job(q), over: over,
		arrivals: make(chan arrival, 256), answers: make(chan Answer, len(a.Shell.links))}
	defer func() {
		end()
		a.Close()
		r.all.Wait()
	}()
	for _, f := range a.Shell.failed {
		c.silent = append(c.silent, f.Host.Name)
	}
	for _, l := range a.Shell.links {
		r.all.Go(func() { r.write(l) })
		r.all.Go(func() { r.read(l) })
	}
	if err := r.call(ctx); err != nil {
		return none, err
	}
	stop := func() error {
		for _, l := range a.Shell.links {
			l.CloseWrite()
		}
		return nil
	}
	err = c.collect(ctx, r.arrivals, stop, nil)
	return c.outcome(), err
}

// write sends the job, and then leases.
func (r *shellRun) write(l *sshlink.Link) {
	if l.Send(jobMessage, must(r.job)) != nil {
		return // read gets the reason
	}
	tick := time.NewTicker(leaseTime)
	defer tick.Stop()
	for {
		select {
		case <-r.over.Done():
			return
		case <-tick.C:
		}
		if l.Send(leaseMessage, nil) != nil {
			return // the copy has ended, or will end without leases
		}
	}
}

// read receives the messages of a copy.
func (r *shellRun) read(l *sshlink.Link) {
	host := l.Host.Name
	put := func(a arrival) {
		a.host = host
		select {
		case r.arrivals <- a:
		case <-r.over.Done():
		}
	}
	answered, ended := false, false
	for {
		kind, data, err := l.Receive()
		switch {
		case err != nil && ended:
			return
		case err != nil && !answered:
			r.answers <- Answer{Host: host, Error: l.Reason(err).Error()}
			return
		case err != nil:
			put(arrival{ended: &JobEnd{Error: l.Reason(err).Error()}})
			return
		}
		switch kind {
		case answerMessage:
			var a Answer
			if !answered && read(data, &a) == nil {
				answered, a.Host = true, host
				r.answers <- a
			}
		case partMessage:
			if dropped, n := binary.Uvarint(data); n > 0 && answered {
				put(arrival{data: data[n:], dropped: dropped})
			}
		case endMessage:
			var e JobEnd
			if read(data, &e) == nil && answered {
				ended = true
				put(arrival{ended: &e})
			}
		}
	}
}

// call waits until all machines have answered whether they run the job.
func (r *shellRun) call(ctx context.Context) error {
	began := time.Now()
	deadline := time.NewTimer(2 * answerTime)
	defer deadline.Stop()
	left := map[string]bool{}
	for _, l := range r.asker.Shell.links {
		left[l.Host.Name] = true
	}
	var refused []sshlink.Failure
	accepted := 0
	for waiting := true; waiting && len(left) > 0; {
		select {
		case a := <-r.answers:
			delete(left, a.Host)
			if a.Error != "" {
				err := diag.Errorf(diag.Run, "", "", "%s", a.Error).WithHint("%s", a.Hint)
				refused = append(refused, sshlink.Failure{Host: sshlink.Host{Name: a.Host}, Err: err})
				continue
			}
			accepted++
			r.c.expect(a.Host)
			r.c.skew(&a, began)
		case <-deadline.C:
			waiting = false
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	sayGroups(refused, r.q.Config.Messages)
	for _, f := range refused {
		r.c.silent = append(r.c.silent, f.Host.Name)
	}
	r.c.silent = append(r.c.silent, slices.Collect(maps.Keys(left))...)
	slices.Sort(r.c.silent)
	if accepted == 0 {
		return diag.Errorf(diag.Run, "run", r.job.Name, "no host runs it").
			WithHint("the messages above say why")
	}
	if d := r.job.Duration; d > 0 {
		r.c.until = time.Now().Add(d + lastTime + max(r.asker.Late, defaultLate))
	}
	r.c.say("job %s runs on %d hosts", r.job.ID, accepted)
	return nil
}
