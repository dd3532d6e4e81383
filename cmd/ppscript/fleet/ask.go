package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/session"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// A Question is a script to run on many machines, with the description of its
// results.
type Question struct {
	Request
	Reports []plan.Report
	Script  [32]byte // SHA-256 of its text
	Bundle  *Bundle  // the script's files, if it does not come with ppscript
	// Stacks asks hosts to send the stacks of each interval, too.
	Stacks bool
	Config *session.Config
	// JSON says that results are JSON records, so that messages about hosts are records, too.
	JSON bool
}

// An Asker asks machines that have agents.
type Asker struct {
	Server Server
	Labels map[string]string
	ByHost bool
	// Outliers compares the machines and names the ones whose numbers differ.
	Outliers bool
	// Parts has, for each level of mergers, the number of parts into which the hosts are divided.
	// Nil: chosen by the number of hosts. 0: hosts send to the asker directly.
	Parts []int
	// Late is how long the asker waits for late hosts after the end of a
	// window.
	Late time.Duration
	// Answer is how long hosts may take to say whether they run the job; 0 is answerTime.
	Answer time.Duration
	// Keep is how long hosts go on and keep their results while the asker has no connection; 0:
	// lostTime.
	Keep   time.Duration
	Clocks time.Duration // how often the clocks of hosts are compared with this machine's; 0: clockTime
	// Key is a file with the key that signs the job; "" is none.
	Key string
	// Files are files with partial results, which are merged in place of machines.
	Files []string
	// Shell reaches machines without agents, by ssh.
	Shell Shell
}

// defaultLate is the default of Late: enough for a busy machine and a slow
// network.
const defaultLate = 2 * time.Second

// Run sends the question, and shows merged results until all machines are done
// or ctx ends.
func (a *Asker) Run(ctx context.Context, q *Question) (session.Outcome, error) {
	if len(a.Files) > 0 {
		return a.readFiles(ctx, q)
	}
	if a.ByShell() {
		return a.runShell(ctx, q)
	}
	nc, err := a.Server.connect("fleet run", "", false)
	if err != nil {
		return session.Outcome{Status: -1}, err
	}
	defer nc.Close()
	c, err := newCollector(q, a)
	if err != nil {
		return session.Outcome{Status: -1}, err
	}
	r := &asking{asker: a, nc: nc, q: q, c: c, job: a.job(q)}
	return r.run(ctx)
}

func (a *Asker) job(q *Question) *Job {
	o := &q.Config.Options
	by := "unknown"
	if u, err := user.Current(); err == nil {
		by = u.Username
	}
	return &Job{ID: newID(), By: by + "@" + hostname(), Labels: a.Labels,
		Request: q.Request,
		Stacks:  q.Stacks, Interval: o.Interval, Duration: o.Limits.Duration,
		Script: hex.EncodeToString(q.Script[:]), At: time.Now(), Bundle: q.Bundle,
		Keep: a.Keep}
}

// asking is one run of an Asker over a hub.
type asking struct {
	asker *Asker
	nc    *nats.Conn
	q     *Question
	c     *collector
	job   *Job
	all   sync.WaitGroup
}

func (r *asking) say(format string, args ...any) {
	r.q.Config.Messages(plain.Line(fmt.Sprintf(format, args...)))
}

func (r *asking) run(ctx context.Context) (session.Outcome, error) {
	none := session.Outcome{Status: -1}
	there, known, err := hosts(ctx, r.nc, r.job.Labels)
	if err != nil {
		return none, err
	}
	if known && len(there) == 0 {
		return none, diag.Errorf(diag.Run, "ask", labelText(r.job.Labels), "no host has these labels").
			WithHint("see who is there: ppscript fleet hosts")
	}
	r.job.Tree = r.asker.tree(len(there))
	taking, enough := context.WithCancel(context.WithoutCancel(ctx))
	defer enough()
	arrivals := make(chan arrival, 256)
	err = r.listen(taking, arrivals)
	if err != nil {
		return none, err
	}
	// Agents that already run it need their lease renewed while others have not answered yet.
	leasing, over := context.WithCancel(context.WithoutCancel(ctx))
	r.all.Go(func() { r.lease(leasing) })
	defer r.all.Wait()
	defer over()
	accepted, err := r.call(ctx, there)
	if err != nil {
		return none, err
	}
	if err := r.clocks(leasing, arrivals); err != nil {
		return none, err
	}
	stop := func() error { return r.nc.Publish(stopSubject+r.job.ID, nil) }
	var again func(a Again)
	if r.job.Tree != nil {
		// If this message is lost, agents without an answer send their frames
		// again later anyway.
		again = func(a Again) { _ = r.nc.Publish(againSubject+r.job.ID, must(a)) }
	}
	err = r.c.collect(ctx, arrivals, stop, again)
	if err != nil {
		_ = stop()
		_ = r.nc.FlushTimeout(time.Second)
	}
	out := r.c.outcome()
	if accepted == 0 && err == nil {
		err = diag.Errorf(diag.Run, "run", r.job.Name, "no host runs it").
			WithHint("see who is there: ppscript fleet hosts")
	}
	return out, err
}

// An arrival is a message about the job: a frame, or the end of a host's run.
type arrival struct {
	host    string
	data    []byte
	dropped uint64
	ended   *JobEnd
	// answer sends the answer to a frame of several hosts: whether it was counted. Nil
	// for other messages.
	answer  func(t FrameAnswer)
	clock   *Answer // the time by the host's clock
	askedAt time.Time
}

// listen receives the messages of agents about the job. A frame of one host is confirmed when it is
// in the queue, so that its sender can drop it.
func (r *asking) listen(ctx context.Context, arrivals chan<- arrival) error {
	put := func(a arrival) {
		select {
		case arrivals <- a:
		case <-ctx.Done():
		}
	}
	for subject, fn := range map[string]nats.MsgHandler{
		partSubject + r.job.ID + ".*": func(m *nats.Msg) {
			dropped, _ := strconv.ParseUint(m.Header.Get(droppedHeader), 10, 64)
			put(arrival{host: speaker(m.Subject), data: m.Data, dropped: dropped})
			_ = m.Respond(nil)
		},
		sumSubject + r.job.ID: func(m *nats.Msg) {
			put(arrival{host: m.Header.Get(mergerHeader), data: m.Data,
				// a sender without an answer sends again
				answer: func(t FrameAnswer) { _ = m.Respond(must(t)) }})
		},
		endSubject + r.job.ID + ".*": func(m *nats.Msg) {
			var e JobEnd
			if read(m.Data, &e) == nil {
				put(arrival{host: speaker(m.Subject), ended: &e})
			}
			_ = m.Respond(nil)
		},
	} {
		if _, err := r.nc.Subscribe(subject, fn); err != nil {
			return err
		}
	}
	return nil
}

// call sends the job to all agents, and records which of them run it. there are
// the hosts that the hub lists.
func (r *asking) call(ctx context.Context, there []HostAge) (accepted int, err error) {
	sub, err := r.nc.SubscribeSync(answerSubject + r.job.ID + ".*")
	if err != nil {
		return 0, err
	}
	defer sub.Unsubscribe()
	began := time.Now()
	message := must(r.job)
	if int64(len(message)) > r.nc.MaxPayload() && r.job.Bundle != nil {
		if err := r.job.keep(ctx, r.nc); err != nil {
			return 0, err
		}
		message = must(r.job)
	}
	if int64(len(message)) > r.nc.MaxPayload() {
		return 0, diag.Errorf(diag.Run, "run", r.job.Name, "its request has %d bytes", len(message)).
			WithHint("give shorter options")
	}
	asked := nats.NewMsg(jobSubject)
	asked.Data = message
	asked.Reply = answerSubject + r.job.ID + "." + nobody // the server answers there if no agent hears it
	if err := r.asker.sign(asked); err != nil {
		return 0, err
	}
	if err := r.nc.PublishMsg(asked); err != nil {
		return 0, err
	}
	waited, cancel := context.WithTimeout(ctx, cmp.Or(r.asker.Answer, answerTime))
	defer cancel()
	left := map[string]bool{}
	for i := range there {
		left[there[i].Name] = true
	}
	answered := map[string]bool{}
	refused := map[string][]string{}
	hints := map[string]string{}
	for first := true; first || len(left) > 0 || len(there) == 0; first = false {
		m, err := sub.NextMsgWithContext(waited)
		if err != nil || m.Header.Get("Status") == "503" {
			break
		}
		var answer Answer
		if read(m.Data, &answer) != nil {
			continue
		}
		if answer.Host = speaker(m.Subject); answer.Host == "" || answered[answer.Host] ||
			len(answered) >= mostHosts {
			continue
		}
		answered[answer.Host] = true
		delete(left, answer.Host)
		if answer.Error != "" {
			text := plain.Line(answer.Error)
			refused[text] = append(refused[text], answer.Host)
			hints[text] = answer.Hint
			continue
		}
		accepted++
		r.c.expect(answer.Host)
		r.c.skew(&answer, began)
	}
	for text, who := range refused {
		r.c.refused += len(who)
		if !r.c.more(refusals) {
			continue
		}
		r.say("refused by %s: %s", names(who), text)
		if hints[text] != "" {
			r.say("hint: %s", hints[text])
		}
	}
	r.c.sayMore()
	for name := range left {
		r.c.silent = append(r.c.silent, name)
	}
	slices.Sort(r.c.silent)
	if accepted == 0 && len(refused) > 0 {
		return 0, diag.Errorf(diag.Usage, "run", r.job.Name, "no host permits it").
			WithHint("the messages above say why; what agents permit is their policy: ppscript agent --help")
	}
	if accepted == 0 {
		return 0, diag.Errorf(diag.Run, "run", r.job.Name, "no host answers").
			WithHint("start agents there: ppscript agent --hub %s", r.asker.Server.URL)
	}
	if d := r.job.Duration; d > 0 {
		r.c.until = time.Now().Add(d + max(lastTime, r.asker.Keep) + max(r.asker.Late, defaultLate))
	}
	r.say("job %s runs on %d hosts", r.job.ID, accepted)
	return accepted, nil
}

// refusals names the kind of a message that counts further reasons why hosts refuse a
// job.
const refusals = "reasons of hosts to refuse it"

// sign signs a job, if there is a key.
func (a *Asker) sign(m *nats.Msg) error {
	if a.Key == "" {
		return nil
	}
	secret, err := sign.ReadSecret(a.Key)
	if err == nil {
		m.Header.Set(keyHeader, base64.StdEncoding.EncodeToString(secret.Public))
		m.Header.Set(signHeader, base64.StdEncoding.EncodeToString(secret.SignText(jobText, m.Data)))
	}
	return err
}

// lease renews the job's lease until ctx ends: an agent ends a job whose lease
// is not renewed.
func (r *asking) lease(ctx context.Context) {
	tick := time.NewTicker(leaseTime)
	defer tick.Stop()
	for {
		_ = r.nc.Publish(leaseSubject+r.job.ID, nil) // if it is lost, the next one is in time
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// readFiles merges and shows the frames in files.
func (a *Asker) readFiles(ctx context.Context, q *Question) (session.Outcome, error) {
	c, err := newCollector(q, a)
	if err != nil {
		return session.Outcome{Status: -1}, err
	}
	c.recorded = true
	for i, path := range a.Files {
		f, err := infile.OpenNow(path)
		if err != nil {
			return session.Outcome{Status: -1}, diag.FileError("read parts", path, err).
				OrHint("give files that --partials wrote: ppscript SCRIPT --partials -o FILE")
		}
		frames := mergeable.NewReader(f)
		for ctx.Err() == nil {
			frame, err := frames.Next()
			if err != nil {
				if err = errors.Join(notEnd(err), f.Close()); err != nil {
					return session.Outcome{Status: -1}, diag.Errorf(diag.Run, "read parts", path,
						"%w", err).
						WithHint("give files that --partials wrote")
				}
				break
			}
			// Two files of one machine are two sources.
			if frame.Host == "" || len(a.Files) > 1 && c.from[frame.Host] != 0 &&
				c.from[frame.Host] != i+1 {
				frame.Host = cmp.Or(frame.Host, "host") + "#" + strconv.Itoa(i+1)
			}
			c.from[frame.Host] = i + 1
			c.expect(frame.Host)
			if err := c.frame(frame); err != nil {
				return session.Outcome{Status: -1}, err
			}
		}
	}
	err = c.show(time.Now(), true)
	return c.outcome(), err
}

// names joins the names of hosts to a text. Of more than 12, it gives the
// number of the others.
func names(list []string) string {
	const most = 12
	list = slices.Clone(list)
	slices.Sort(list)
	if len(list) > most {
		return strings.Join(list[:most], ", ") + ", and " + strconv.Itoa(len(list)-most) + " more"
	}
	return strings.Join(list, ", ")
}

func labelText(labels map[string]string) string {
	var list []string
	for k, v := range labels {
		list = append(list, k+"="+v)
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// wall converts a frame's time, in ns of the wall clock, to a time.Time.
func wall(t event.Time) time.Time { return time.Unix(0, int64(t)) }

// newID returns a random number for a job or a query that nobody can guess.
func newID() string {
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}
