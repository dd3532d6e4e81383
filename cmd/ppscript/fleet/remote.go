package fleet

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"ppscript/cmd/ppscript/fleet/sshlink"
	"ppscript/runtime/text/diag"
)

// This file is the part of a copy of the program that was started on a machine by ssh: it runs one
// job as an agent would, and writes its messages to standard output. A user who can log in there
// can run any program, so scripts need no signature and no policy applies. All other restrictions
// are the same as for a job of an agent.

// remoteLimits are the limits of a job over ssh.
var remoteLimits = Limits{Jobs: 1, Interval: 100 * time.Millisecond, Memory: "256m", CPU: 100,
	Waiting: 16 << 20}

// remote returns the hidden subcommand that the shell commands of package
// sshlink start.
func (p *Program) remote() *cobra.Command {
	return &cobra.Command{Use: "remote DIR", Short: "Run a job of the asker over ssh", Hidden: true,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] != "" {
				if err := sshlink.RemoveSelf(args[0]); err != nil {
					return err
				}
			}
			a := &Agent{Name: hostname(), Program: "/proc/self/exe", Limits: remoteLimits, Tell: p.Tell}
			return a.serve(os.Stdin, os.Stdout, func(j *Job) error {
				if j.Bundle != nil {
					return j.checkWords(p.Common)
				}
				return j.Check(p.Shipped, p.Common)
			})
		}}
}

// serve reads one job from in and runs it until the job ends or in is closed.
func (a *Agent) serve(in io.Reader, out io.Writer, permit func(j *Job) error) error {
	from, to := sshlink.NewReader(in), sshlink.NewWriter(out)
	kind, data, err := from.Receive()
	if errors.Is(err, io.EOF) {
		return nil // the asker closed the connection without a job
	}
	var j Job
	if err == nil && kind == jobMessage {
		err = read(data, &j)
	}
	if err != nil || kind != jobMessage {
		return diag.Errorf(diag.Run, "hear", "a job", "%w", errors.Join(err)).
			WithHint("only ppscript fleet run --ssh calls this")
	}
	own := &job{Job: j, agent: a, began: time.Now(), wake: make(chan struct{}, 1)}
	if err = permit(&j); err == nil {
		err = a.bound(&j)
	}
	if err == nil && j.Bundle != nil {
		own.dir, err = j.Bundle.unpackUnsigned()
	}
	defer own.clean()
	answer := Answer{Host: a.Name, Now: time.Now()}
	if err != nil {
		answer.Error, answer.Hint = short(err.Error()), short(diag.HintOf(err))
	}
	if sent := to.Send(answerMessage, must(answer)); sent != nil || err != nil {
		a.Tell(&j, own.began, 0, errors.Join(sent, err))
		return sent
	}
	a.starter = newStarter()
	defer close(a.starter)
	err = own.attend(from, to)
	a.Tell(&j, own.began, own.frames, err)
	return nil
}

// attend runs the job and sends its messages until the job ends or the asker is
// gone.
func (j *job) attend(from *sshlink.Reader, to *sshlink.Writer) error {
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	var heard atomic.Int64
	heard.Store(time.Now().UnixNano())
	go func() { // runs until the process ends
		for {
			if _, _, err := from.Receive(); err != nil {
				end(errStopped)
				return
			}
			heard.Store(time.Now().UnixNano())
		}
	}()
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		cpu := cpuWatch{most: j.agent.Limits.CPU}
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			j.mu.Lock()
			err := cpu.check(j.pid, time.Now())
			j.mu.Unlock()
			// A cut connection may not be reported as an end of the input.
			if err == nil && time.Since(time.Unix(0, heard.Load())) > awayTime+lostTime {
				err = errLease
			}
			if err != nil {
				end(err)
				return
			}
		}
	}()
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		for {
			frame, dropped := j.next(context.Background())
			if frame == nil {
				return
			}
			if err := to.Send(partMessage, append(binary.AppendUvarint(nil, dropped), frame...)); err != nil {
				end(errLease)
				return
			}
			j.acknowledge(frame)
		}
	}()
	err := j.process(ctx)
	close(over)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	j.mu.Lock()
	j.done = true
	j.mu.Unlock()
	j.awake()
	select {
	case <-delivered:
	case <-time.After(lastTime): // the asker does not read the frames
		return err
	}
	if errors.Is(err, errStopped) {
		err = nil
	}
	e := JobEnd{Host: j.agent.Name, Frames: j.frames, Dropped: j.dropped}
	if err != nil {
		e.Error = short(err.Error())
	}
	return errors.Join(err, to.Send(endMessage, must(e)))
}
