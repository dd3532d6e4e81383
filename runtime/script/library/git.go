package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// This file runs git for libraries that are fetched directly from repositories.
// The content of a repository is not trusted. So git's time and disk space are
// bounded, its messages are not shown, and no files are checked out (gittree.go
// reads git's objects).

const (
	gitTime   = 2 * time.Minute
	gitOutput = 64 << 20 // output of one command
	// maxClone bounds the needed part of a repository: one commit.
	maxClone  = 256 << 20
	cloneTick = 100 * time.Millisecond
)

// Errors for repositories that cannot be read.
var (
	errNoRepository = errors.New("no such repository, or it asks for a login")
	errNoHost       = errors.New("no such host")
	errNoConnection = errors.New("no connection to the host")
)

// saysGit maps git's messages, with LC_ALL=C, to these errors.
var saysGit = []struct {
	text string
	err  error
}{
	{"couldn't find remote ref", errAbsent},
	{"Could not resolve host", errNoHost},
	{"Connection refused", errNoConnection},
	{"Connection timed out", errNoConnection},
	{"Failed to connect", errNoConnection},
	{"unable to access", errNoRepository},
	{"could not read Username", errNoRepository},
	{"could not read Password", errNoRepository},
	{"terminal prompts disabled", errNoRepository},
	{"Authentication failed", errNoRepository},
	{"Permission denied", errNoRepository},
	{"not found", errNoRepository},
	{"does not exist", errNoRepository},
	{"does not appear to be a git repository", errNoRepository},
	{"Could not read from remote repository", errNoRepository},
}

// run runs a git command in dir. grows is a directory that must not exceed
// maxClone meanwhile; "" for none.
func (g *git) run(ctx context.Context, dir, grows string, input []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	args = append([]string{"-c", "core.hooksPath=/dev/null"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	// git must not ask for a password, since that would hang without a user.
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0",
		"GIT_SSH_COMMAND=ssh -o BatchMode=yes", "LC_ALL=C")
	cmd.Stdin = bytes.NewReader(input)
	// git has children, which do the work.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, errs := &boundedBuffer{limit: gitOutput, full: cancel}, &boundedBuffer{limit: 1 << 20}
	cmd.Stdout, cmd.Stderr = out, errs
	var tooLarge atomic.Bool
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		if grows != "" {
			tooLarge.Store(growsBeyond(grows, maxClone, done))
			if tooLarge.Load() {
				cancel()
			}
		}
	}()
	err := cmd.Run()
	timedOut := errors.Is(ctx.Err(), context.DeadlineExceeded)
	close(done)
	<-watched
	switch {
	case tooLarge.Load():
		return nil, fmt.Errorf("the repository is larger than %d MiB", maxClone>>20)
	case out.dropped:
		return nil, fmt.Errorf("git says more than %d MiB", gitOutput>>20)
	case err == nil:
		return out.Bytes(), nil
	case timedOut:
		return nil, fmt.Errorf("git took longer than %v", gitTime)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed")
	}
	said := errs.String()
	for _, s := range saysGit {
		if strings.Contains(said, s.text) {
			return nil, s.err
		}
	}
	return nil, errors.New("git could not do it")
}

// growsBeyond waits until a directory has more than limit bytes, or done is
// closed.
func growsBeyond(dir string, limit int64, done <-chan struct{}) bool {
	tick := time.NewTicker(cloneTick)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return false
		case <-tick.C:
		}
		sum := int64(0)
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				if st, err := d.Info(); err == nil {
					sum += st.Size()
				}
			}
			return nil
		})
		if sum > limit {
			return true
		}
	}
}

// boundedBuffer keeps a bounded number of bytes, and records whether there were
// more.
type boundedBuffer struct {
	bytes.Buffer
	limit   int
	full    func() // called when there are more bytes; may be nil
	dropped bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	n := min(len(p), b.limit-b.Len())
	b.Buffer.Write(p[:n])
	if n < len(p) && b.full != nil && !b.dropped {
		b.dropped = true
		b.full()
	}
	return len(p), nil
}
