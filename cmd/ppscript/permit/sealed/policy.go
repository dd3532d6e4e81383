// Package sealed decides which users may run which scripts with root's rights, as sudoers does for
// commands. A file that only root can write names users, scripts and options. sudo lets these users
// start ppscript sealed, which runs a script only if a rule permits it. The command line calls the
// package twice: before it reads the script, to check the user and the script's name, and before
// any option has an effect, to check the options. The package itself runs nothing.
//
// The form of the file:
//
//	# who           script                     options
//	alice,%ops      syscalls                   --pids=* --than=100us..1s --interval=1s..
//	%dev            /opt/perf/disk.star        sha256=9f86d0...  --device=sd[a-z]
//	%dev            /opt/perf/net.star         signed=ops  arg=eth* write=/var/log/perf --output=*
//
// Everything that no rule permits is refused.
package sealed

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/cmd/ppscript/recording"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// mostRules bounds the size of a file of rules, in bytes.
const mostRules = 1 << 20

// File is the path of the machine's rules.
const File = "/etc/ppscript/sealed"

// A Policy has the rules of one file.
type Policy struct {
	Path  string
	Rules []*Rule
}

// A Rule permits some users to run one script with some options.
type Rule struct {
	At     string   // FILE:LINE
	Users  []string // "alice", "#1000", "%ops", "%#100", "ALL"
	Script string   // an absolute path, or what known returned for a script of ppscript
	Trust
	Options []Option
	Args    []string // patterns of the script's arguments
	Exec    []string // patterns of the commands that may be started and observed
	Write   []string // directories in which files may be written
	Net     []string // addresses to talk to
}

// A Trust says which contents a script must have: contents with a given hash, or
// contents that a key signed. Scripts that come with the program need neither.
type Trust struct {
	Sum    *sign.Sum
	Signed bool
	By     string // name or fingerprint of the key, "" for any of the machine's
}

// An Option is an option that a rule permits, with the permitted values.
type Option struct {
	Name  string
	Value *string // alternatives, separated by |: patterns, or ranges LOW..HIGH; nil: none may be given
}

// Read reads a file of rules. It is an error if anybody but root can change the file. known turns
// the name of a script that comes with the program into the path by which the script host finds it,
// "" if there is no such script.
func Read(path string, known func(name string) string) (*Policy, error) {
	text, err := infile.Read(path, mostRules)
	if errors.Is(err, os.ErrNotExist) {
		return nil, diag.Errorf(diag.Usage, "sealed", path, "%w", diag.Reason(err)).
			WithHint("have root write rules into it: ppscript sealed --help")
	}
	if err != nil {
		return nil, diag.FileError("sealed", path, err).OrHint("look: ls -l %s", path)
	}
	if err := sign.RootsOwn(path); err != nil {
		return nil, err
	}
	return Parse(path, string(text), known)
}

// Parse reads rules. One mistake makes the whole file invalid: the author may rely on the rule that
// cannot be read.
func Parse(path, text string, known func(name string) string) (*Policy, error) {
	p := &Policy{Path: path}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	whole, first := "", 0
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if first == 0 {
			first = n
		}
		if more, ok := strings.CutSuffix(line, `\`); ok {
			whole += more + " "
			continue
		}
		whole += line
		at := path + ":" + strconv.Itoa(first)
		if !isComment(strings.TrimSpace(whole)) {
			r, err := parseRule(at, whole, known)
			if err != nil {
				return nil, err
			}
			p.Rules = append(p.Rules, r)
		}
		whole, first = "", 0
	}
	if whole != "" {
		return nil, mistake(path, "the last line goes on, and there is none").WithHint("take the \\ away")
	}
	return p, lines.Err()
}

// isComment reports that a line is empty or a comment. # begins a comment, but
// #1000 is a user.
func isComment(line string) bool {
	return line == "" || line[0] == '#' && (len(line) == 1 || line[1] < '0' || line[1] > '9')
}

func mistake(at, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Usage, "sealed", at, format, args...)
}

func parseRule(at, line string, known func(string) string) (*Rule, error) {
	words, err := recording.Words(line)
	if err != nil {
		return nil, mistake(at, "a quote has no end").WithHint("close it")
	}
	if len(words) < 2 {
		return nil, mistake(at, "got %q, want users and a script", line).
			WithHint("write: alice,%%ops syscalls --pids=*")
	}
	r := &Rule{At: at, Users: strings.Split(words[0], ","), Script: known(words[1])}
	for _, who := range r.Users {
		if strings.TrimLeft(who, "%#") == "" {
			return nil, mistake(at, "got %q, want names of users", words[0]).
				WithHint("write alice, #1000, %%group, %%#100 or ALL, with commas and without blanks")
		}
	}
	path := r.Script == ""
	if path {
		if r.Script = words[1]; !filepath.IsAbs(r.Script) || filepath.Clean(r.Script) != r.Script {
			return nil, mistake(at, "%s is neither a script of ppscript nor an absolute path", r.Script).
				WithHint("write /DIR/NAME.star, or a name of ppscript list")
		}
	}
	for _, word := range words[2:] {
		if err := r.parse(word); err != nil {
			return nil, err
		}
	}
	switch known := !path; {
	case known && (r.Sum != nil || r.Signed):
		return nil, mistake(at, "%s comes with ppscript, and has no hash and no signature", words[1]).
			WithHint("take sha256= or signed= away")
	case path && r.Sum == nil && !r.Signed:
		return nil, mistake(at, "%s needs sha256= or signed=", r.Script).
			WithHint("add signed=KEY, or sha256=$(sha256sum %s)", r.Script)
	case r.Sum != nil && r.Signed:
		return nil, mistake(at, "got sha256= and signed=").WithHint("give one of them")
	}
	return r, nil
}

// neverNamed are options that a rule cannot permit, because they would undo it,
// with the text to write instead.
var neverNamed = map[string]string{
	"allow": "write=DIR and net=ADDRESS", "signers": "signed=KEY", "require-signed": "signed=KEY",
	"command": "the name of a script", "help": "nothing: it may always be asked for",
}

// ParseOptions reads the options and arguments of a rule in a file of another
// form; at is its place.
func ParseOptions(at string, words []string) (*Rule, error) {
	r := &Rule{At: at}
	for _, word := range words {
		if err := r.parse(word); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Rule) parse(word string) error {
	name, value, valued := strings.Cut(word, "=")
	if option, ok := strings.CutPrefix(name, "--"); ok {
		option = strings.ReplaceAll(option, "_", "-")
		instead := neverNamed[option]
		if instead != "" || option == "" || strings.ContainsAny(option, "*?[") {
			return mistake(r.At, "%s cannot be allowed", name).
				WithHint("write %s", cmp.Or(instead, "the name of one option"))
		}
		o := Option{Name: option}
		if valued {
			o.Value = &value
		}
		r.Options = append(r.Options, o)
		return nil
	}
	bad := func(want string) error {
		return mistake(r.At, "got %s, want %s", word, want).WithHint("see: ppscript sealed --help")
	}
	switch {
	case name == "signed":
		r.Signed, r.By = true, value
	case !valued || value == "":
		return bad("--OPTION=VALUES, arg=, exec=, write=, net=, sha256= or signed=")
	case name == "sha256":
		sum, err := hex.DecodeString(value)
		if err != nil || len(sum) != len(sign.Sum{}) {
			return bad("sha256= and 64 hexadecimal digits, as sha256sum prints them")
		}
		s := sign.Sum(sum)
		r.Sum = &s
	case name == "arg":
		r.Args = append(r.Args, value)
	case name == "exec" && filepath.IsAbs(value):
		if _, err := recording.Words(value); err != nil {
			return mistake(r.At, "%s: a quote has no end", word).WithHint("close it")
		}
		r.Exec = append(r.Exec, value)
	case name == "write" && filepath.IsAbs(value):
		r.Write = append(r.Write, value)
	case name == "net":
		r.Net = append(r.Net, value)
	default:
		return bad("--OPTION=VALUES, arg=, exec=/PROGRAM, write=/DIR, net=, sha256= or signed=")
	}
	return nil
}

// For returns the rules for a user and a script; for all scripts if script is
// "".
func (p *Policy) For(u User, script string) (list []*Rule) {
	for _, r := range p.Rules {
		if (script == "" || r.Script == script) && slices.ContainsFunc(r.Users, u.matches) {
			list = append(list, r)
		}
	}
	return list
}

// String returns the rule as it is written, without its users.
func (r *Rule) String() string {
	words := []string{strings.TrimSuffix(strings.TrimPrefix(r.Script, "@stdlib//"), ".star")}
	if filepath.IsAbs(r.Script) {
		words[0] = r.Script
	}
	for _, o := range r.Options {
		word := "--" + o.Name
		if o.Value != nil {
			word += "=" + *o.Value
		}
		words = append(words, word)
	}
	for _, x := range []struct {
		name   string
		values []string
	}{{"arg", r.Args}, {"exec", r.Exec}, {"write", r.Write}, {"net", r.Net}} {
		for _, v := range x.values {
			words = append(words, x.name+"="+v)
		}
	}
	return strings.Join(words, " ")
}
