package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ppscript/runtime/diag"
	"ppscript/runtime/eventstring"
	"ppscript/runtime/kernel"
	"ppscript/runtime/relay"
	"ppscript/runtime/script"
	"ppscript/runtime/session"
)

// This file decides which files a run may write and which addresses it may talk
// to, since it often is root's. Everything that the user typed is permitted: the
// program after -c, lines of the prompt, and every value of an option, a path or
// an address in an event for example. The scripts that come with ppscript use
// only these. Other names in a file or a library have to be allowed, with
// --allow.

// writers are the common options that name files to write.
var writers = map[string]bool{
	"output": true, "flame-graph": true, "pprof": true, "speedscope": true, "perfetto": true,
	"firefox": true, "parquet": true, "html": true,
}

// ownWords are the common options that only the user gives: a script cannot have
// defaults for them.
var ownWords = map[string]bool{
	"allow": true, "token-file": true, "http": true, "http-token": true, "otlp": true, "otlp-profiles": true,
	"pyroscope": true,
}

// permits lists the rights of a run beyond reading events and showing results.
type permits struct {
	// typed says that all of the program is the user's own words, or ours.
	typed func() bool
	given map[string]bool // values of options, addresses of events
	files []string        // of --allow write=
	peers []string        // of --allow net=
	// verbose tells also of files that the user named himself.
	verbose bool
	say     func(line string)
	said    map[string]bool
}

// readAllow reads the values of --allow.
func readAllow(texts []string) (files, peers []string, err error) {
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
			return nil, nil, usagef("option", "--allow", "got %q, want write=DIR or net=ADDRESS", part).
				WithHint("write --allow write=/var/tmp,net=192.0.2.7:9900")
		}
	}
	return files, peers, nil
}

// permits are the rights of an invocation.
func (inv *invocation) permits(say func(string)) *permits {
	p := &permits{typed: typedIn(inv.host), given: map[string]bool{}, say: say,
		files: inv.common.allowFiles, peers: inv.common.allowPeers, verbose: inv.common.options.Verbose > 0}
	for _, text := range inv.typed {
		p.given[text] = true
	}
	for _, text := range inv.eventTexts() {
		sources, err := eventstring.Parse(text, kernel.ParseCPUList)
		if err != nil {
			continue // which the user was told
		}
		for _, s := range sources {
			for _, address := range append(s.Pull(), s.Push()...) {
				p.given[address] = true
			}
		}
	}
	return p
}

// permitOptions checks the files of common options whose values come from the script.
func permitOptions(inv *invocation, permit func(session.Use) error) error {
	for _, path := range inv.writes {
		if path == "-" || path == "" {
			continue // stdout
		}
		if err := permit(session.Use{Kind: session.Writes, Name: path, Given: path}); err != nil {
			return err
		}
	}
	return nil
}

func typedIn(host *script.Host) func() bool {
	return func() bool { return len(host.Files()) == 0 }
}

// check implements session.Config.Permit.
func (p *permits) check(u session.Use) error {
	what, allowed := "write", p.files
	says := "writes " + u.Name
	switch {
	case u.Kind == session.Writes:
	case u.Kind == session.Sends && relay.IsFile(u.Name), relay.IsDevice(u.Name):
		says = "opens " + u.Name + " for writing"
	case relay.IsFile(u.Name):
		return nil // a recording, which is read
	default:
		what, allowed = "net", p.peers
		says = map[session.UseKind]string{
			session.Sends: "sends events to ", session.Receives: "takes events from ",
		}[u.Kind] + u.Name
	}
	byUser := p.typed() || p.given[u.Given]
	if !byUser {
		ok := false
		for _, a := range allowed {
			ok = ok || what == "net" && a == u.Name || what == "write" && within(u.Name, a)
		}
		if !ok {
			return p.refuse(u, what)
		}
	}
	if (p.verbose || !byUser) && !p.said[says] {
		if p.said == nil {
			p.said = map[string]bool{}
		}
		p.said[says] = true
		p.say(says)
	}
	return nil
}

func (p *permits) refuse(u session.Use, what string) error {
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

// realPlace is the directory in which a file is made or written, and its name
// there, once links are followed as the kernel follows them: a link that is the
// file itself, also one to a file that does not exist yet, and .. behind a link,
// which is not the directory before it.
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
		// No Join or Abs: they take a/link/../b for a/b.
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

// within reports that a file to write lies below a directory, or is the one that
// is named, once links are followed.
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
