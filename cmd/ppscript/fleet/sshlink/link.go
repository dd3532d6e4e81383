package sshlink

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// A Link is a connection to a copy of the program on a host. Send and Receive may be called
// concurrently.
type Link struct {
	Host Host
	*Writer
	*Reader

	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr tail
	once   sync.Once
	err    error // the error with which ssh ended
}

// options are the options of ssh that take priority over the user's configuration. Nobody can type
// a password, and a lost host must be noticed within a minute.
var options = []string{"BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=15",
	"ServerAliveCountMax=4", "RequestTTY=no", "ForwardX11=no", "ForwardAgent=no", "ClearAllForwardings=yes"}

// start starts ssh.
func (d *Dialer) start(h Host) (*Link, error) {
	args := []string{}
	if d.Config != "" {
		args = append(args, "-F", d.Config)
	}
	for _, o := range append(append([]string{}, d.Options...), options...) { // ssh uses the first value
		args = append(args, "-o", o)
	}
	l := &Link{Host: h, cmd: exec.Command("ssh", append(args, "--", h.Name, shellCommand())...)}
	// In a process group of its own, ssh does not get Ctrl-C: after it, hosts
	// still send their last results.
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	l.cmd.Stderr = &l.stderr
	l.cmd.WaitDelay = patience // a master process of shared connections may keep the pipes open
	in, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, diag.Errorf(diag.Run, "start", "ssh", "%w", err).
			WithHint("install ssh: apt-get install openssh-client")
	}
	l.in, l.Writer, l.Reader = in, NewWriter(in), NewReader(out)
	return l, nil
}

// CloseWrite closes the input of the copy, which then sends its remaining messages and ends.
func (l *Link) CloseWrite() { _ = l.in.Close() } // a second close does nothing

// Close ends the connection, and returns the error of ssh.
func (l *Link) Close() error {
	l.once.Do(func() {
		l.CloseWrite()
		_ = l.cmd.Process.Kill() // it may have ended
		l.err = l.cmd.Wait()
	})
	return l.err
}

// patience is how long ssh may take to print its error and end after its output was closed.
const patience = 2 * time.Second

// Reason waits for the end of ssh, and returns its last message, or the host's, as an error; or if
// there is none.
func (l *Link) Reason(or error) error {
	kill := time.AfterFunc(patience, func() { _ = l.cmd.Process.Kill() })
	defer kill.Stop()
	l.once.Do(func() {
		l.CloseWrite()
		l.err = l.cmd.Wait()
	})
	if text := l.stderr.last(); text != "" {
		return errors.New(text)
	}
	if errors.Is(or, io.EOF) {
		or = errors.New("the connection ended")
	}
	if l.err != nil {
		return fmt.Errorf("%w (ssh: %w)", or, l.err)
	}
	return or
}

// prepare talks with the shell commands on the host until a copy of the program
// has started.
func (d *Dialer) prepare(ctx context.Context, l *Link) error {
	defer context.AfterFunc(ctx, func() { _ = l.cmd.Process.Kill() })()
	line, err := greet(l.Reader.from)
	if err != nil {
		return l.Reason(err)
	}
	system, machine, _ := strings.Cut(line, " ")
	p := d.programs[machine]
	switch {
	case system != "Linux":
		return diag.Errorf(diag.Usage, "copy", l.Host.Name, "it runs %s, not Linux", plain.Line(system)).
			WithHint("leave it out of the hosts")
	case p == nil:
		arch := plain.Line(goName(machine))
		return diag.Errorf(diag.Usage, "copy", l.Host.Name, "it is %s (%s), and this program is for %s", arch,
			plain.Line(machine), goName(d.own)).
			WithHint("give a ppscript for %s, too: GOARCH=%s make build; ppscript fleet run --ssh-program FILE",
				arch, arch)
	}
	if _, err := fmt.Fprintf(l.in, "%s %d %s %s\n", p.hash, p.size, yes(d.Keep), yes(d.Sudo)); err != nil {
		return l.Reason(err)
	}
	for {
		line, err := readLine(l.Reader.from)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case err != nil:
			return l.Reason(err)
		case word == "run":
			return nil
		case word == "want":
			if err := p.send(l.in); err != nil {
				return l.Reason(err)
			}
		case word == "no":
			if said := l.stderr.last(); said != "" {
				rest += ": " + said
			}
			return errors.New(plain.Line(rest))
		case word != "have":
			return fmt.Errorf("its shell says %q", plain.Line(line))
		}
	}
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func (p *program) send(to io.Writer) error {
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(to, f, p.size)
	return err
}

// mostLine bounds the length of a line from a host, in bytes, and the number of
// lines before the greeting.
const mostLine = 4 << 10

func readLine(from *bufio.Reader) (string, error) {
	line, err := from.ReadSlice('\n')
	if err != nil && len(line) == 0 {
		return "", err
	}
	return string(bytes.TrimSpace(line)), err
}

// greet waits for the first line of our shell commands, and returns its content. A login
// shell may print other lines before it.
func greet(from *bufio.Reader) (string, error) {
	for range mostLine {
		line, err := readLine(from)
		if rest, ok := strings.CutPrefix(line, greeting); ok {
			return rest, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
	return "", errors.New("its shell says much, and does not start sh")
}

// A tail keeps the end of ssh's standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > mostLine {
		t.text = append(t.text[:0], t.text[len(t.text)-mostLine:]...)
	}
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return plain.Line(strings.TrimSpace(lines[len(lines)-1]))
}
