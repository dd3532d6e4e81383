// Package permit decides which files a run may write and which addresses it may talk
// to, since runs often have root's rights. Everything that the user typed is
// permitted: the program after -c, lines at the prompt, and every value of an
// option, such as a path or an address in an event. The scripts that come with
// ppscript use only such names. Names in the text of any other script must be
// allowed with --allow.
package permit

import (
	"os"
	"path/filepath"
	"ppscript/runtime/plan"
	"slices"
	"strings"
	"syscall"

	"ppscript/runtime/source/relay"
	"ppscript/runtime/text/diag"
)

// Permits lists the rights of a run beyond reading events and showing results.
type Permits struct {
	// Typed reports that the whole program was typed by the user or comes with
	// ppscript.
	Typed func() bool
	Named map[string]bool // values of options and addresses in events that the user typed
	Files []string        // of --allow write=
	Peers []string        // of --allow net=
	// LookOnly refuses everything, also what the user typed.
	LookOnly bool
	// ForOthers says that the request comes from another machine. Then no command is started, and
	// no file is read except programs that every user of this machine may read.
	ForOthers bool
	// Verbose also reports files that the user named.
	Verbose   bool
	Say       func(line string)
	Used      []plan.Use // uses that were permitted
	announced map[string]bool
}

// ReadAllow reads the values of --allow.
func ReadAllow(texts []string) (files, peers []string, err error) {
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			what, value, _ := strings.Cut(part, "=")
			switch {
			case value == "":
			case what == "write":
				files = append(files, value)
				continue
			case what == "net":
				peers = append(peers, value)
				continue
			}
			return nil, nil, diag.Errorf(diag.Usage, "option", "--allow",
				"got %q, want write=DIR or net=ADDRESS", part).
				WithHint("write --allow write=/var/tmp,net=192.0.2.7:9900")
		}
	}
	return files, peers, nil
}

// Check implements session.Config.Permit.
func (p *Permits) Check(u plan.Use) error {
	what, allowed := "write", p.Files
	says := "writes " + u.Name
	switch {
	case u.Kind == plan.Reads, u.Kind == plan.Probes, u.Kind == plan.Starts:
		// These need no permission: they happen with the user's own rights, at
		// the user's request.
		return p.checkOthers(u)
	case u.Kind == plan.Writes:
	case u.Kind == plan.Sends && relay.IsFile(u.Name), relay.IsDevice(u.Name):
		says = "opens " + u.Name + " for writing"
	default:
		what, allowed = "net", p.Peers
		says = map[plan.UseKind]string{
			plan.Sends: "sends events to ", plan.Receives: "takes events from ",
		}[u.Kind] + u.Name
	}
	if p.LookOnly {
		return lookOnly(u.Kind.String(), u.Name)
	}
	byUser := p.Typed() || p.Named[u.ScriptText]
	if !byUser {
		ok := false
		for _, a := range allowed {
			ok = ok || what == "net" && a == u.Name || what == "write" && within(u.Name, a)
		}
		if !ok {
			return p.refuse(u, what)
		}
	}
	if slices.ContainsFunc(p.Used, func(v plan.Use) bool { return u.Kind == v.Kind && u.Name == v.Name }) {
		return nil
	}
	p.Used = append(p.Used, u)
	if (p.Verbose || !byUser) && !p.announced[says] {
		if p.announced == nil {
			p.announced = map[string]bool{}
		}
		p.announced[says] = true
		p.Say(says)
	}
	return nil
}

// checkOthers refuses files and commands that a request from another machine may not read
// or start here.
func (p *Permits) checkOthers(u plan.Use) error {
	if !p.ForOthers || u.Kind == plan.Probes && everybodys(u.Name) {
		return nil
	}
	return diag.Errorf(diag.Usage, u.Kind.String(), u.Name,
		"not for other machines: nothing is started, and no file is read").
		WithHint("probe programs that every user may read; run anything else where the file is")
}

// everybodys reports that every user of the machine can read a program. A name without a slash is a
// shared library, which is searched in directories that only root can write to.
func everybodys(path string) bool {
	if !strings.Contains(path, "/") {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !filepath.IsAbs(real) {
		return false
	}
	const read, enter = 0o004, 0o001
	if st, err := os.Stat(real); err != nil || !st.Mode().IsRegular() || st.Mode()&read == 0 {
		return false
	}
	for real != "/" {
		real = filepath.Dir(real)
		if st, err := os.Stat(real); err != nil || st.Mode()&enter == 0 {
			return false
		}
	}
	return true
}

func (p *Permits) refuse(u plan.Use, what string) error {
	value := u.Name
	if what == "write" {
		if dir, _, err := realPlace(u.Name); err == nil {
			value = dir
		} else if path, err := filepath.Abs(u.Name); err == nil {
			value = filepath.Dir(path)
		}
	}
	return diag.Errorf(diag.Usage, u.Kind.String(), u.Name,
		"not allowed: the script names it, not the command line").
		WithHint("if you trust the script: --allow %s=%s", what, value)
}

// realPlace returns the directory in which a file would be created or written,
// and its name there. It follows links as the kernel does: also if the file
// itself is a link, even to a file that does not exist yet; and ".." after a
// link is the parent of the link's target, not the directory of the link.
func realPlace(path string) (dir, name string, err error) {
	if !filepath.IsAbs(path) {
		at, err := os.Getwd()
		if err != nil {
			return "", "", err
		}
		path = at + "/" + path
	}
	for range 40 { // as many links as the kernel follows
		i := strings.LastIndexByte(path, '/')
		// filepath.Join and Abs are wrong here: they turn a/link/../b into a/b.
		dir, name = path[:i+1], path[i+1:]
		if name == "" || name == "." || name == ".." {
			dir, err = filepath.EvalSymlinks(path)
			return dir, "", err
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", "", err
		}
		to, err := os.Readlink(dir + "/" + name)
		if err != nil {
			return dir, name, nil
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + "/" + to
		}
	}
	return "", "", syscall.ELOOP
}

// within reports that a file to write is dir or lies below it, once links are
// followed.
func within(path, dir string) bool {
	parent, name, err1 := realPlace(path)
	dir, err2 := filepath.Abs(dir)
	if err1 != nil || err2 != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(dir, filepath.Join(parent, name))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
