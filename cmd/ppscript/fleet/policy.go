package fleet

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/cmd/ppscript/permit/sealed"
	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/glob"
	"ppscript/runtime/text/unit"
)

// PolicyFile is the path of a machine's policy.
const PolicyFile = "/etc/ppscript/agent"

// A Policy says which jobs a machine runs for askers. Without a line "allow", these are all
// profilers that come with ppscript, with any options for agents, and scripts that a key of the
// signers has signed. The form of its file:
//
//	allow syscalls --than=1ms..1s --pids=*    # a profiler, or a pattern of names; options that may be given
//	allow profile --*                         # with any option
//	allow signed=ops --*                      # scripts that travel, signed by this key; signed is any key
//	signers /etc/ppscript/signers             # those keys
//	asker ops alice                           # whose jobs run: keys of the signers; fleet run --key signs
//	max-duration 10m                          # and max-jobs, min-interval, max-memory, max-waiting,
//	max-cpu 20%                               # max-rows
//	max-budget 2%                             # what observing may cost, of all CPUs
type Policy struct {
	Path    string
	Signers string
	Askers  []string
	allows  []allowRule
	limits  []func(*Limits)
}

// An allowRule is a line "allow".
type allowRule struct {
	name   string // pattern of names of profilers
	signed bool
	by     string // name or fingerprint of the key; "": any
	any    bool   // any option is allowed
	rule   *sealed.Rule
}

// ReadPolicy reads a policy. If this process is root's, it is an error if anybody but root can
// change the file. path "" means PolicyFile, which need not exist.
func ReadPolicy(path string) (*Policy, error) {
	at := path
	if at == "" {
		at = PolicyFile
	}
	text, err := infile.Read(at, 1<<20)
	switch {
	case errors.Is(err, os.ErrNotExist) && path == "":
		return &Policy{Signers: sign.SignersFile}, nil
	case err != nil:
		return nil, diag.FileError("read policy", at, err).OrHint("look: ls -l %s", at)
	case os.Geteuid() == 0:
		if err := sign.RootsOwn(at); err != nil {
			return nil, err
		}
	}
	return ParsePolicy(at, string(text))
}

// ParsePolicy reads the text of a policy. One mistake makes the whole text
// invalid.
func ParsePolicy(path, text string) (*Policy, error) {
	p := &Policy{Path: path, Signers: sign.SignersFile}
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at := path + ":" + strconv.Itoa(n+1)
		if len(words) == 1 {
			return nil, wrongPolicy(at, "%s has no value", words[0])
		}
		if err := p.parse(at, words[0], words[1:]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func wrongPolicy(at, format string, args ...any) error {
	return diag.Errorf(diag.Usage, "read policy", at, format, args...).
		WithHint("docs/fleet.md has the lines of a policy: ppscript help fleet")
}

func (p *Policy) parse(at, word string, rest []string) error {
	switch word {
	case "allow":
		return p.allow(at, rest)
	case "asker":
		p.Askers = append(p.Askers, rest...)
		return nil
	}
	if len(rest) > 1 {
		return wrongPolicy(at, "got %d words behind %s, want one", len(rest), word)
	}
	value := rest[0]
	if word == "signers" {
		p.Signers = value
		return nil
	}
	set, err := limit(word, value)
	if err != nil {
		return wrongPolicy(at, "%s: %w", word, err)
	}
	p.limits = append(p.limits, set)
	return nil
}

// limit parses a line with a limit, and returns a function that applies it. The
// stricter of the line and the agent's option counts.
func limit(word, value string) (func(*Limits), error) {
	var d time.Duration
	var n int64
	var share float64
	var err error
	switch word {
	case "max-duration", "min-interval":
		d, err = time.ParseDuration(value)
	case "max-memory", "max-waiting":
		n, err = unit.ParseSize(value)
	case "max-jobs", "max-rows":
		n, err = strconv.ParseInt(value, 10, 64)
	case "max-budget":
		share, err = budget.Parse(value)
	case "max-cpu":
		percent, ok := strings.CutSuffix(value, "%")
		n, err = strconv.ParseInt(percent, 10, 64)
		if !ok {
			err = errors.New("got no %")
		}
	default:
		return nil, errors.New("there is no such line")
	}
	if err == nil && d <= 0 && n <= 0 && share <= 0 {
		err = errors.New("want more than 0")
	}
	return func(l *Limits) {
		switch word {
		case "max-duration":
			l.Duration = least(l.Duration, d)
		case "min-interval":
			l.Interval = max(l.Interval, d)
		case "max-memory":
			if had, err := unit.ParseSize(l.Memory); err != nil || had == 0 || n < had {
				l.Memory = value
			}
		case "max-waiting":
			l.Waiting = least(l.Waiting, n)
		case "max-jobs":
			l.Jobs = least(l.Jobs, int(n))
		case "max-rows":
			l.Rows = least(l.Rows, n)
		case "max-cpu":
			l.CPU = least(l.CPU, int(n))
		case "max-budget":
			l.Budget = least(l.Budget, share)
		}
	}, err
}

// least returns the smaller of two limits; 0 means no limit.
func least[T int | int64 | float64 | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (p *Policy) allow(at string, words []string) error {
	a := allowRule{name: words[0]}
	if a.name == "signed" || strings.HasPrefix(a.name, "signed=") {
		a.signed = true
		_, a.by, _ = strings.Cut(a.name, "=")
	}
	options := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "--*" })
	a.any = len(options) < len(words)-1
	for _, w := range options {
		if !strings.HasPrefix(w, "--") && !strings.HasPrefix(w, "arg=") {
			return wrongPolicy(at, "got %s, want --OPTION=VALUES, --* or arg=VALUES", w)
		}
	}
	var err error
	if a.rule, err = sealed.ParseOptions(at, options); err != nil {
		return err
	}
	p.allows = append(p.allows, a)
	return nil
}

// Bound applies the limits of the policy to l.
func (p *Policy) Bound(l *Limits) {
	for _, set := range p.limits {
		set(l)
	}
}

// Permit is an error if no line allows a job. by is the signer of the script that was sent with
// it.
func (p *Policy) Permit(j *Job, by sign.Key) error {
	if len(p.allows) == 0 {
		return nil
	}
	q := sealed.Request{Args: j.Args}
	for _, o := range j.Options {
		q.Options = append(q.Options, sealed.OptionValues{Name: o.Name, Values: o.Values, Bare: o.Bare})
	}
	var reason error
	for i := range p.allows {
		a := &p.allows[i]
		switch {
		case a.signed != (j.Bundle != nil), !a.signed && !glob.Match(a.name, j.Name),
			a.signed && a.by != "" && a.by != by.Name && a.by != by.Fingerprint():
			continue
		case a.any:
			return nil
		}
		err := a.rule.Allows(q)
		if err == nil {
			return nil
		}
		reason = err
	}
	var d *diag.Error
	if errors.As(reason, &d) {
		return diag.Errorf(diag.Usage, "run", j.Name, "%s: %w", d.Subject, d.Cause).
			WithHint("the host's %s says what it permits", p.Path)
	}
	return diag.Errorf(diag.Usage, "run", j.Name, "no line of the host's %s allows it", p.Path).
		WithHint("ask for what is allowed, or have a line added: allow %s", j.Name)
}
