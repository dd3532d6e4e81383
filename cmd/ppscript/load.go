package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ppscript/builtins"
	"ppscript/builtins/all"
	"ppscript/docs"
	"ppscript/runtime/script"
	"ppscript/runtime/system/limits"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
	"ppscript/scripts"
	"ppscript/stdlib"
)

// lookTime is how long a script may take to describe its run, for check, explain, help and the tests.
const lookTime = 20 * time.Second

// newHost makes the Starlark host that loads and runs scripts.
func (a *app) newHost() (*script.Host, *builtins.Registry, error) {
	reg, err := all.Registry()
	if err != nil {
		return nil, nil, err
	}
	return a.hostOf(reg), reg, nil
}

// hostOptions returns the options of a host that only loads scripts. It checks no
// signatures.
func (a *app) hostOptions() (o script.HostOptions, err error) {
	reg, err := all.Registry()
	if err != nil {
		return o, err
	}
	return a.optionsOf(reg), nil
}

// hostOf makes a host for scripts that use the builtins in reg.
func (a *app) hostOf(reg *builtins.Registry) *script.Host {
	o := a.optionsOf(reg)
	a.vetting.vetFor(&o)
	return script.NewHost(o)
}

// bounds returns the limits of a script's steps, memory and time; with 0 the time is this machine's
// default.
func (a *app) bounds(within time.Duration) limits.Policy { return a.limits.In(within) }

func (a *app) optionsOf(reg *builtins.Registry) script.HostOptions {
	return script.HostOptions{
		Predeclared: reg.Predeclared(),
		Stdlib:      stdlib.FS(),
		Resolve:     a.libs.Resolve,
		Print:       func(msg string) { io.WriteString(a.Stderr, plain.Text(msg, "")+"\n") },
		Limits:      a.bounds(a.scriptTime),
		Hung:        a.hung,
	}
}

// hung ends the process, because a script that should only describe its run does not return.
func (a *app) hung(why error) {
	a.Report(diag.Errorf(diag.Run, "load", "the script", "%w", why).
		WithHint("look for values that are in themselves many times, such as x = (x, x) in a loop"))
	a.scratch.remove()
	os.Exit(exitRun)
}

// unsavedFile is the unsaved text of a file in an editor.
type unsavedFile struct{ file, text string }

// load loads a script by name.
func (a *app) load(host *script.Host, name string) (*script.Module, error) {
	if a.unsaved.file != "" && name == a.unsaved.file {
		return host.LoadSource(name, a.unsaved.text)
	}
	file, err := find(name)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(file, "//") || strings.HasPrefix(file, "@stdlib//") {
		return host.Load(file)
	}
	full, src, err := a.libs.Resolve(file, "")
	if err != nil {
		return nil, err
	}
	return host.LoadSource(full, string(src))
}

// find returns the file that name stands for: a profiler, or a path. A profiler wins over a file of the
// same name without suffix, and such a file wins over a script of the shipped library.
func find(name string) (string, error) {
	if file, ok := stdlib.Find(name); ok {
		return "@stdlib//" + file, nil
	}
	if strings.HasPrefix(name, "@stdlib//") {
		return name, nil
	}
	st, err := os.Stat(name)
	if file, ok := scripts.Find(name); ok && (err != nil || st.IsDir()) {
		return "@stdlib//scripts/" + file, nil
	}
	if err != nil && strings.Contains(name, "//") { // of a library
		if filepath.Ext(name) != ".star" {
			name += ".star"
		}
		return name, nil
	}
	switch {
	case err == nil && st.IsDir():
		return "", usagef("load", name, "is a directory").WithHint("give one of its .star files")
	case err == nil:
		return name, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", usagef("load", name, "%w", diag.Reason(err)).
			WithHint("check its permissions: ls -l %s", name)
	case strings.ContainsRune(name, '/') || filepath.Ext(name) == ".star":
		return "", usagef("load", name, "no such file%s",
			diag.DidYouMean(filepath.Base(name), starFiles(filepath.Dir(name)))).
			WithHint("list the scripts that come with ppscript: ppscript list")
	}
	return findNamesake(name)
}

// findNamesake finds a script by another project's name of it: opensnoop-bpfcc is opensnoop. For tools
// without a namesake the error names the command that does the same.
func findNamesake(name string) (string, error) {
	if short := docs.ToolName(name); short != name {
		if file, ok := stdlib.Find(short); ok {
			return "@stdlib//" + file, nil
		}
		if file, ok := scripts.Find(short); ok {
			return "@stdlib//scripts/" + file, nil
		}
	}
	if answer, page, ok := docs.Called(name); ok {
		if strings.HasPrefix(answer, "ppscript ") {
			return "", usagef("script", name, "no profiler has this name here (ppscript help %s)", page).
				WithHint("write %s", answer)
		}
		return "", usagef("script", name, "no profiler has this name here: %s", answer).
			WithHint("read ppscript help %s", page)
	}
	known := append(shipped(), commandNames...)
	return "", usagef("script", name, "no such profiler, command or file%s", diag.DidYouMean(name, known)).
		WithHint("list the profilers: ppscript list")
}

// commandNames are the subcommands that messages suggest for a misspelt name.
var commandNames = []string{"agent", "check", "completion", "diff", "doc", "doctor", "explain", "export",
	"fleet", "fmt", "help", "hub", "list", "lsp", "mcp", "merger", "mod", "new", "probe", "record", "repl",
	"resolve", "sealed", "sign", "test", "tls", "usdt", "verify", "version"}

// profilers returns the names of the profilers that come with ppscript, as
// users write them.
func profilers() []string {
	names := stdlib.Names()
	for i, n := range names {
		names[i] = display(n)
	}
	return names
}

// shipped returns the names of the profilers and of the scripts in scripts/.
func shipped() []string {
	names := profilers()
	for _, n := range scripts.Names() {
		names = append(names, display(n))
	}
	return names
}

func display(name string) string { return strings.ReplaceAll(name, "_", "-") }

func starFiles(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".star" {
			names = append(names, e.Name())
		}
	}
	return names
}
