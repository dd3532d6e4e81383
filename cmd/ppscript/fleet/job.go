package fleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/cmd/ppscript/permit"
	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// A job is a running Job: a process that writes frames (partial results), and the queue of frames
// that the asker has not confirmed yet.
type job struct {
	Job
	agent *Agent
	began time.Time

	jobScript

	mu      sync.Mutex
	leased  time.Time
	pid     int // of the process while it runs, else 0
	frames  uint64
	waiting [][]byte
	bytes   int64
	dropped uint64
	done    bool // the process has ended; no frame follows
	log     []string
	wake    chan struct{}
}

// jobScript is the script that was sent with a job.
type jobScript struct {
	dir string // directory of the unpacked bundle; "" if there is none
	by  sign.Key
}

const (
	mostLog  = 50               // lines of a job's messages that are kept
	grace    = 10 * time.Second // for a process to write its last results
	ackTime  = 5 * time.Second  // a frame without an answer is sent again after this time
	lastTime = 30 * time.Second // for the delivery of the remaining frames after the end of a job
)

// running describes the job for a Query. The agent's lock is held.
func (j *job) running() Running {
	j.mu.Lock()
	defer j.mu.Unlock()
	return Running{Host: j.agent.Name, Job: j.ID, By: j.By, Words: j.String(), Began: j.began,
		Frames:  j.frames,
		Waiting: len(j.waiting), Log: slices.Clone(j.log)}
}

func (j *job) note(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.log) < mostLog {
		j.log = append(j.log, plain.Line(line))
	}
}

// run runs the job to its end and delivers its frames.
func (j *job) run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	nc := j.agent.nc
	lease, err := nc.Subscribe(leaseSubject+j.ID, func(m *nats.Msg) {
		j.mu.Lock()
		j.leased = time.Now()
		j.mu.Unlock()
		if len(m.Data) > 0 { // the asker compares clocks
			_ = nc.Publish(clockSubject+j.ID+"."+wordOf(j.agent.Name),
				must(Answer{Host: j.agent.Name, Now: j.agent.Now()}))
		}
	})
	if err != nil {
		return err
	}
	defer lease.Unsubscribe()
	stop, err := nc.Subscribe(stopSubject+j.ID, func(*nats.Msg) { end(errStopped) })
	if err != nil {
		return err
	}
	defer stop.Unsubscribe()
	to := j.sender()
	again, err := nc.Subscribe(againSubject+j.ID, to.lacking)
	if err != nil {
		return err
	}
	defer again.Unsubscribe()
	over := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { j.watch(ctx, end, over) })
	delivered := make(chan struct{})
	sending, enough := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(delivered)
		j.deliver(sending, to)
	}()
	err = j.process(ctx)
	close(over)
	beside.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	j.mu.Lock()
	j.done = true
	j.mu.Unlock()
	j.awake()
	if errors.Is(err, errLease) {
		enough() // the asker is gone, so stop delivering
	}
	select {
	case <-delivered:
	case <-time.After(max(lastTime, j.Keep)):
	}
	enough()
	<-delivered
	switch {
	case errors.Is(err, errStopped):
		err = nil
	case err == nil && ctx.Err() != nil:
		err = errAgent
	}
	j.tellEnd(err)
	return err
}

var (
	errStopped = errors.New("it was stopped")
	errLease   = errors.New("the asker is gone")
	errAgent   = errors.New("its agent ended")
)

// watch ends a job whose lease has expired or that uses too much CPU time. While the server cannot
// be reached, the lease cannot be renewed; the job then goes on for awayTime and keeps its results.
func (j *job) watch(ctx context.Context, end context.CancelCauseFunc, over <-chan struct{}) {
	lost := max(cmp.Or(j.agent.Limits.Lease, lostTime), j.Keep)
	tick := time.NewTicker(min(lost/4, time.Second))
	defer tick.Stop()
	away := time.Time{}
	cpu := cpuWatch{most: j.agent.Limits.CPU}
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		j.mu.Lock()
		if err := cpu.check(j.pid, now); err != nil {
			j.mu.Unlock()
			end(err)
			return
		}
		since := now.Sub(j.leased)
		switch {
		case !j.agent.nc.IsConnected():
			if away.IsZero() {
				away = now
			}
			if since = 0; now.Sub(away) > max(awayTime, j.Keep) {
				since = lost + 1
			}
		case !away.IsZero(): // the server is back: the asker gets the full time of a lease again
			away, j.leased, since = time.Time{}, now, 0
		}
		j.mu.Unlock()
		if since > lost {
			end(errLease)
			return
		}
	}
}

// process runs the script as a separate process, and puts its frames into the queue.
func (j *job) process(ctx context.Context) error {
	var args []string
	how := "results"
	if j.Stacks {
		how = "stacks"
	}
	duration := j.Duration
	if duration == 0 {
		duration = j.agent.Limits.Duration
	}
	args = append(args, "--partials="+how)
	if duration > 0 {
		args = append(args, "--duration="+strconv.FormatInt(duration.Nanoseconds(), 10)+"ns")
	}
	if j.Interval > 0 {
		args = append(args, "--interval="+strconv.FormatInt(j.Interval.Nanoseconds(), 10)+"ns")
	}
	if m := j.agent.Limits.Memory; m != "" {
		args = append(args, "--memory="+m)
	}
	// Even a signed script writes, sends and starts nothing, and reads no
	// files.
	args = append(args, "--"+permit.LookOnly, "--"+permit.ForOthers)
	cmd := exec.CommandContext(ctx, j.agent.Program, j.arguments(args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8",
		"TERM=dumb"}
	cmd.Dir = "/"
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = grace
	// If the agent is killed, the process ends, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	said := &logWriter{j: j}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := j.agent.starter.start(cmd); err != nil {
		return diag.Errorf(diag.Run, "start", j.agent.Program, "%w",
			err).WithHint("see the agent's messages")
	}
	j.setPID(cmd.Process.Pid)
	defer j.setPID(0)
	frames := mergeable.NewReader(bufio.NewReader(out))
	var wrong error
	for wrong == nil {
		var b []byte
		if b, wrong = frames.Raw(); wrong == nil {
			j.put(bytes.Clone(b))
		}
	}
	if !errors.Is(wrong, io.EOF) {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
	} else {
		wrong = nil
	}
	err = cmd.Wait()
	var status *exec.ExitError
	switch {
	case wrong != nil:
		return wrong
	case errors.As(err, &status) && ctx.Err() == nil:
		return fmt.Errorf("%s", said.last(status.Error()))
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// put appends a frame to the queue. If the queue is full, the oldest frames are
// dropped.
func (j *job) put(b []byte) {
	j.mu.Lock()
	j.frames++
	j.waiting = append(j.waiting, b)
	j.bytes += int64(len(b))
	for j.bytes > j.agent.Limits.Waiting && len(j.waiting) > 1 {
		j.bytes -= int64(len(j.waiting[0]))
		j.waiting[0] = nil
		j.waiting = j.waiting[1:]
		j.dropped++
	}
	j.mu.Unlock()
	j.awake()
}

func (j *job) awake() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// next waits for the oldest frame in the queue. A nil frame means that none follows, or that ctx
// has ended.
func (j *job) next(ctx context.Context) (frame []byte, dropped uint64) {
	for ctx.Err() == nil {
		j.mu.Lock()
		if len(j.waiting) > 0 {
			frame = j.waiting[0]
		}
		done, dropped := j.done, j.dropped
		j.mu.Unlock()
		if frame != nil || done {
			return frame, dropped
		}
		select {
		case <-j.wake:
		case <-ctx.Done():
		}
	}
	return nil, 0
}

// acknowledge removes a frame that the asker has confirmed. The queue may have dropped it
// meanwhile.
func (j *job) acknowledge(frame []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.waiting) > 0 && &j.waiting[0][0] == &frame[0] {
		j.waiting[0] = nil
		j.waiting = j.waiting[1:]
		j.bytes -= int64(len(frame))
	}
}

// deliver sends the frames, the oldest first, and repeats each until the asker has
// confirmed it.
func (j *job) deliver(ctx context.Context, to *sender) {
	for {
		next, dropped := j.next(ctx)
		if next == nil {
			return
		}
		m := nats.NewMsg("") // the sender sets the subject
		m.Data = next
		m.Header.Set(droppedHeader, strconv.FormatUint(dropped, 10))
		if err := to.send(ctx, m); err != nil {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		j.acknowledge(next)
	}
}

// tellEnd reports the end of the job to the asker.
func (j *job) tellEnd(err error) {
	j.mu.Lock()
	e := JobEnd{Host: j.agent.Name, Frames: j.frames, Dropped: j.dropped + uint64(len(j.waiting))}
	j.mu.Unlock()
	if err != nil {
		e.Error = short(err.Error())
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), ackTime/2)
		_, err := j.agent.nc.RequestWithContext(ctx, endSubject+j.ID+"."+wordOf(e.Host), must(e))
		cancel()
		if err == nil || errors.Is(err, nats.ErrNoResponders) || errors.Is(err,
			nats.ErrConnectionClosed) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// A logWriter receives the messages of the process and keeps them in the job's
// log.
type logWriter struct {
	j    *job
	mu   sync.Mutex
	part []byte
	line string
}

// Write implements io.Writer.
func (w *logWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.part = append(w.part, p...)
	for {
		line, rest, ok := bytes.Cut(w.part, []byte("\n"))
		if !ok {
			if len(w.part) > 4<<10 {
				w.part = w.part[:0]
			}
			return len(p), nil
		}
		text := strings.TrimPrefix(string(line), "ppscript: ")
		w.part = rest
		if text == "" {
			continue
		}
		if !strings.HasPrefix(text, "hint: ") && !strings.HasPrefix(text,
			" ") && !strings.HasPrefix(text, "\t") {
			w.line = text
		}
		w.j.note(text)
	}
}

// last returns the last message, or the argument if there is none.
func (w *logWriter) last(or string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.line == "" {
		return or
	}
	return plain.Line(w.line)
}
