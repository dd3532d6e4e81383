// Package limits says what scripts may take: one Policy for everything that they do, whichever caller runs
// them. package script keeps to it; the command reads the host's own from a file.
//
// It bounds the language only: what a run holds is bounded by package memory.
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

// A Policy bounds what the code of scripts may take: as a file is loaded, in main, in callbacks
// (on_interval, on_exit, on_lost) and in helpers, the functions that are called per event, row or
// cell. The zero value of a member is its default.
type Policy struct {
	// Steps bounds one load, one call of main, of a callback, and one statement of the prompt: a
	// step is about 20 ns.
	Steps uint64
	// CallSteps bounds one call of a helper.
	CallSteps uint64
	// Memory is how many bytes the heap may grow meanwhile, and what states of helpers may hold.
	Memory int64
	// Time bounds the same in time, without the runs that a script makes.
	Time time.Duration
	// Depth is how deep lists may lie in lists. Calls have a depth by themselves: no function may
	// call itself.
	Depth int
	// Path is the file that they are from; "" are the defaults.
	Path string
	// Within says that Time is the time of a command which only looks at scripts: no file raises it.
	Within bool
}

// In is p for a command that gives scripts so much time; 0 is as much as p does.
func (p Policy) In(most time.Duration) Policy {
	p = p.Whole()
	if most > 0 && most < p.Time {
		p.Time, p.Within = most, true
	}
	return p
}

// The defaults are far beyond what a script needs that describes a run and looks at its results.
var defaults = Policy{
	Steps:     1_000_000_000, // half a minute
	CallSteps: 10_000_000,
	Memory:    256 << 20,
	Time:      5 * time.Minute,
	Depth:     1000,
}

// Whole is p with the defaults in place of zeros.
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

// File is where a machine has its own policy.
const File = "/etc/ppscript/limits"

// Raise tells how to raise a limit, by its word in a file, to so much.
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

// The words of a file, which errors and hints use too.
const (
	Steps     = "steps"
	CallSteps = "call-steps"
	Memory    = "memory"
	Time      = "time"
	Depth     = "depth"
)

// Words are the limits with their values, in the form of the file.
func (p *Policy) Words() [][2]string {
	return [][2]string{
		{Steps, fmt.Sprint(p.Steps)}, {CallSteps, fmt.Sprint(p.CallSteps)},
		{Memory, unit.Size(p.Memory)}, {Time, p.Time.String()}, {Depth, fmt.Sprint(p.Depth)},
	}
}

// Line is all of them in a line, with where they are from.
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

// maxDepth is as deep as the program itself walks through lists.
const maxDepth = 1000

// Read reads the policy of a machine: a limit in a line, and comments after #. trusted is asked
// whether only root can change the file. Without a file the defaults hold.
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
