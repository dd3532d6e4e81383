// Package limits bounds the resources that the code of scripts may use. There is one Policy for all
// callers. Package script enforces it; the command reads the machine's own policy from a file.
//
// It bounds only the code of scripts; the memory of a run is bounded by package
// memory.
package limits

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// A Policy bounds the code of scripts: while a file is loaded, in main, in callbacks
// (on_interval, on_exit, on_lost) and in helpers, the functions that are called per event, row or
// cell. A member that is 0 stands for its default.
type Policy struct {
	// Steps bounds one load, one call of main or of a callback, and one statement at the prompt.
	// A step of the interpreter takes about 20 ns.
	Steps uint64
	// CallSteps bounds one call of a helper.
	CallSteps uint64
	// Memory bounds, in bytes, the growth of the heap in that time, and the states of helpers.
	Memory int64
	// Time bounds the duration of the same, without the runs that a script
	// starts.
	Time time.Duration
	// Depth bounds the nesting of lists in lists. Calls need no bound, since functions cannot be
	// recursive.
	Depth int
	// Path is the file of the policy; "" for the defaults.
	Path string
	// Within says that Time was lowered by In, so that no file can raise it.
	Within bool
}

// In returns p with Time lowered to most, for commands that only look at
// scripts; 0 changes nothing.
func (p Policy) In(most time.Duration) Policy {
	p = p.Whole()
	if most > 0 && most < p.Time {
		p.Time, p.Within = most, true
	}
	return p
}

// defaults are far more than a script needs to describe a run and to read its results.
var defaults = Policy{
	Steps:     1_000_000_000, // half a minute
	CallSteps: 10_000_000,
	Memory:    256 << 20,
	Time:      5 * time.Minute,
	Depth:     1000,
}

// Whole returns p with the defaults in place of zeros.
func (p Policy) Whole() Policy {
	if p.Steps == 0 {
		p.Steps = defaults.Steps
	}
	if p.CallSteps == 0 {
		p.CallSteps = defaults.CallSteps
	}
	if p.Memory == 0 {
		p.Memory = defaults.Memory
	}
	if p.Time == 0 {
		p.Time = defaults.Time
	}
	if p.Depth == 0 {
		p.Depth = defaults.Depth
	}
	return p
}

// File is the path of a machine's own policy.
const File = "/etc/ppscript/limits"

// Raise is the hint how to raise a limit, given by its word in the file, to a
// value.
func (p *Policy) Raise(word, to string) string {
	if word == Time && p.Within {
		return "commands that only look at scripts give them no more time"
	}
	path := p.Path
	if path == "" {
		path = File
	}
	return fmt.Sprintf("root can raise it with a line in %s: %s %s", path, word, to)
}

// Words for the limits, in the file and in messages.
const (
	Steps     = "steps"
	CallSteps = "call-steps"
	Memory    = "memory"
	Time      = "time"
	Depth     = "depth"
)

// Words lists the limits and their values, in the form of the file.
func (p *Policy) Words() [][2]string {
	return [][2]string{
		{Steps, fmt.Sprint(p.Steps)}, {CallSteps, fmt.Sprint(p.CallSteps)},
		{Memory, unit.Size(p.Memory)}, {Time, p.Time.String()}, {Depth, fmt.Sprint(p.Depth)},
	}
}

// Line shows all limits and their origin in one line.
func (p *Policy) Line() string {
	text := ""
	for _, w := range p.Words() {
		text += w[0] + " " + w[1] + ", "
	}
	if p.Path != "" {
		return text + "by " + p.Path
	}
	return text + "by default; " + File + " may change them"
}

// maxDepth is the nesting of lists up to which ppscript's own recursive code is
// safe.
const maxDepth = 1000

// Read reads a policy from a file with one limit per line and comments after #. trusted returns
// an error unless only root can change the file. Without a file it returns the defaults.
func Read(path string, trusted func(path string) error) (Policy, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Policy{}.Whole(), nil
	}
	if err != nil {
		return Policy{}, diag.FileError("read limits", path, err).
			OrHint("make it readable: chmod 644 %s", path)
	}
	defer f.Close()
	if err := trusted(path); err != nil {
		return Policy{}, err
	}
	p := Policy{Path: path}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			err = errors.New("want a limit and its value")
		} else {
			err = p.set(words[0], words[1])
		}
		if err != nil {
			return Policy{}, diag.Errorf(diag.Usage, "read limits", path, "line %d: got %q, %w", n,
				strings.TrimSpace(line), err).
				WithHint("write one of steps 1000000000, call-steps 10000000, memory 256m, time 5m, depth 1000")
		}
	}
	if err := lines.Err(); err != nil {
		return Policy{}, diag.Errorf(diag.Usage, "read limits", path, "%w", err).
			WithHint("write a limit in each line")
	}
	return p.Whole(), nil
}

// set sets a limit.
func (p *Policy) set(word, value string) error {
	switch word {
	case Steps:
		return whole(&p.Steps, value, 1000, math.MaxInt64/16)
	case CallSteps:
		return whole(&p.CallSteps, value, 1000, math.MaxInt64/16)
	case Depth:
		var n uint64
		err := whole(&n, value, 10, maxDepth)
		p.Depth = int(n)
		return err
	case Memory:
		n, err := unit.ParseSize(value)
		if err == nil && (n < 1<<20 || n > 1<<40) {
			err = errors.New("want between 1m and 1t")
		}
		p.Memory = n
		return err
	case Time:
		d, err := time.ParseDuration(value)
		if err == nil && (d < 100*time.Millisecond || d > 24*time.Hour) {
			err = errors.New("want between 100ms and 24h")
		}
		p.Time = d
		return err
	}
	return errors.New("which is no limit")
}

func whole(to *uint64, value string, least, most uint64) error {
	n, err := fmt.Sscan(value, to)
	if n != 1 || err != nil || fmt.Sprint(*to) != value || *to < least || *to > most {
		return fmt.Errorf("want a number between %d and %d", least, most)
	}
	return nil
}
