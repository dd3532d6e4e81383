package sealed

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"ppscript/runtime/plan"
	"slices"
	"strconv"
	"strings"

	"ppscript/cmd/ppscript/permit"
	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// A Gate decides whether a rule permits one run.
type Gate struct {
	User   User
	Script string
	Rule   *Rule // the rule that permits the run; set by Open
	By     sign.Key

	rules   []*Rule
	vetters map[*Rule]*sign.Vetter
	vetted  bool
}

// NewGate finds the rules for a user and a script. Without any, it is an error.
func NewGate(p *Policy, u User, script string) (*Gate, error) {
	g := &Gate{User: u, Script: script, rules: p.For(u, script), vetters: map[*Rule]*sign.Vetter{}}
	if len(g.rules) == 0 {
		return nil, diag.Errorf(diag.Usage, "sealed", script, "%s may not run it", u).
			WithHint("see what you may run: ppscript sealed --list")
	}
	return g, nil
}

// Vet implements script.HostOptions.Vet: it drops the rules that demand other contents of a
// file. It is an error if no rule remains.
func (g *Gate) Vet(name string, src []byte) (err error) {
	first := !g.vetted
	g.vetted = true
	g.rules = slices.DeleteFunc(slices.Clone(g.rules), func(r *Rule) bool {
		e := g.vet(r, name, src, first)
		err = cmp.Or(err, e)
		return e != nil
	})
	if len(g.rules) > 0 {
		return nil
	}
	return err
}

func (g *Gate) vet(r *Rule, name string, src []byte, first bool) error {
	switch sum := sha256.Sum256(src); {
	case r.Signed:
		v := g.vetters[r]
		if v == nil {
			signers, err := sign.MachineSigners(sign.SignersFile)
			if err != nil {
				return err
			}
			v = &sign.Vetter{Signers: signers, Only: r.By}
			g.vetters[r] = v
		}
		return v.Vet(name, src)
	case r.Sum != nil && first && *r.Sum == sum:
		return nil
	case r.Sum != nil && first:
		return diag.Errorf(diag.Usage, "sealed", name,
			"%s is for a file with other contents; the sha256 of this one is %x", r.At, sum).
			WithHint("have root read the file, and put this sum into %s", File)
	}
	return diag.Errorf(diag.Usage, "sealed", name,
		"%s has the hash of one file, and the script loads this one, too", r.At).
		WithHint("have it signed, with what it loads: ppscript sign KEY %s", g.Script)
}

// A Request has the words after the script's name, parsed.
type Request struct {
	Options []OptionValues
	Args    []string
	Command []string
}

// OptionValues is one option of a request with its values.
type OptionValues struct {
	Name   string
	Values []string
	Bare   bool // it was given without a value
	File   bool // the values are paths
	Writes bool // the values are paths of files to write
}

// harmless are the options that print information; they are always permitted.
var harmless = []string{"help", "help-all", "version", "describe"}

// Open finds the rule that permits a request. If no rule does, it returns the
// error of the first rule.
func (g *Gate) Open(q Request) error {
	if len(g.rules) == 0 {
		return diag.Errorf(diag.Usage, "sealed", g.Script, "no rule is left that allows it").
			WithHint("see what you may run: ppscript sealed --list")
	}
	return g.open(q)
}

func (g *Gate) open(q Request) (err error) {
	for _, r := range g.rules {
		e := r.Allows(q)
		if e == nil {
			g.Rule = r
			if v := g.vetters[r]; v != nil {
				g.By = v.By
			}
			return nil
		}
		err = cmp.Or(err, e)
	}
	return err
}

// Permits returns the rights to files and addresses that the rule grants.
func (g *Gate) Permits(say func(string)) *permit.Permits {
	p := &permit.Permits{Typed: func() bool { return false }, Say: say}
	if g.Rule != nil {
		p.Files, p.Peers = g.Rule.Write, g.Rule.Net
	}
	return p
}

func (r *Rule) refuse(what, format string, args ...any) error {
	return diag.Errorf(diag.Usage, "sealed", what, format, args...).
		WithHint("see what you may run: ppscript sealed --list")
}

// Allows is nil if the rule permits a request, else the reason why it does not.
func (r *Rule) Allows(q Request) error {
	for _, given := range q.Options {
		if slices.Contains(harmless, given.Name) {
			continue
		}
		for _, value := range given.Values {
			if err := r.allowsOption(given, value); err != nil {
				return err
			}
		}
	}
	for _, arg := range q.Args {
		if !slices.ContainsFunc(r.Args, func(p string) bool { return fits(p, arg) }) {
			return r.refuse(strconv.Quote(arg), "%s does not allow that argument", r.At)
		}
	}
	if len(q.Command) > 0 {
		path, err := exec.LookPath(q.Command[0])
		if err == nil {
			path, err = filepath.Abs(path)
		}
		line := append([]string{path}, q.Command[1:]...)
		// A path with ".." is refused: the kernel resolves it from the target
		// of a link, filepath.Abs from the link itself.
		if err != nil || leadsOut(q.Command[0]) ||
			!slices.ContainsFunc(r.Exec, func(p string) bool { return commandFits(p, line) }) {
			return r.refuse(strconv.Quote(strings.Join(q.Command, " ")), "%s does not allow to start it",
				r.At)
		}
	}
	return r.dirs()
}

// dirs checks that only root can change the directories for files. Another user could replace a
// file there by a link to some other file.
func (r *Rule) dirs() error {
	for _, dir := range r.Write {
		if err := sign.RootsOwn(dir); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rule) allowsOption(given OptionValues, value string) error {
	option := "--" + given.Name
	named, fit := false, false
	for _, o := range r.Options {
		if o.Name != given.Name {
			continue
		}
		named = true
		fit = fit || o.Value == nil && given.Bare || o.Value != nil && fits(*o.Value, value)
	}
	switch {
	case !named:
		return r.refuse(option, "%s does not allow it", r.At)
	case !fit:
		return r.refuse(option, "%s does not allow the value %q", r.At, value)
	}
	if given.File && value != "-" {
		if real, err := filepath.EvalSymlinks(value); err == nil && real != value {
			return r.refuse(option, "%s is a link, or behind one, to %s", value, real)
		}
	}
	if given.Writes && value != "-" && value != "" {
		p := permit.Permits{Typed: func() bool { return false }, Files: r.Write, Say: func(string) {}}
		if p.Check(plan.Use{Kind: plan.Writes, Name: value, ScriptText: value}) != nil {
			return r.refuse(option, "%s does not allow to write %s: it has no write= of its directory",
				r.At, value)
		}
	}
	return nil
}

// within reports that a value lies in a range of numbers, times or sizes. If the range has a unit,
// the value needs one as well, because each option has its own unit for bare numbers.
func within(low, high, value string) bool {
	for _, measure := range []func(string) (int64, error){
		func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) },
		bounded(unit.ParseDuration), sized,
	} {
		v, err := measure(value)
		from, err1 := bound(measure, low, -1<<63)
		to, err2 := bound(measure, high, 1<<63-1)
		if errors.Join(err, err1, err2) == nil {
			return from <= v && v <= to
		}
	}
	return false
}

func bound(measure func(string) (int64, error), text string, open int64) (int64, error) {
	if text == "" {
		return open, nil
	}
	return measure(text)
}

var errBare = errors.New("a number without a unit")

// bounded wraps a parser of durations: a number without a unit is an error.
func bounded(parse func(string, int64) (int64, error)) func(string) (int64, error) {
	return func(s string) (int64, error) {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return 0, errBare
		}
		return parse(s, 1)
	}
}

// sized parses a size that has a unit.
func sized(s string) (int64, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return 0, errBare
	}
	return unit.ParseSize(s)
}

// Check finds reasons why a rule with correct syntax would never permit a run: unsafe directories,
// or a script with other contents.
func (r *Rule) Check() error {
	if err := r.dirs(); err != nil || !filepath.IsAbs(r.Script) {
		return err
	}
	src, err := os.ReadFile(r.Script)
	if err != nil {
		return mistake(r.At, "%s: %w", r.Script, diag.Reason(err)).WithHint("look: ls -l %s", r.Script)
	}
	g := Gate{Script: r.Script, rules: []*Rule{r}, vetters: map[*Rule]*sign.Vetter{}}
	return g.Vet(r.Script, src)
}

// checkOptions reports the options of the rule that the script lacks.
func (r *Rule) checkOptions(lacks func(script, option string) (bool, error)) error {
	var errs []error
	for _, o := range r.Options {
		missing, err := lacks(r.Script, o.Name)
		if err != nil {
			return err
		}
		if missing {
			errs = append(errs, mistake(r.At, "%s has no option --%s", r.Script, o.Name).
				WithHint("see: ppscript %s --help-all", r.Script))
		}
	}
	return errors.Join(errs...)
}
