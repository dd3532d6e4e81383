// Package symbolsource parses the options that say where symbols come from: --debuginfod,
// --symbols-from and --names. The command line and its subcommands call it. It opens nothing.
package symbolsource

import (
	"os"
	"strings"

	"ppscript/runtime/session"
	"ppscript/runtime/stack/debuginfod"
	"ppscript/runtime/text/diag"
)

// Environment is the value of --debuginfod that stands for the environment variable
// DEBUGINFOD_URLS.
const Environment = "$" + debuginfod.Variable

// IsURL reports that a word is the address of a server.
func IsURL(word string) bool { return strings.Contains(word, "://") }

// Debuginfod adds the servers that a value of --debuginfod names to to.
func Debuginfod(to *session.Symbols, text string) (err error) {
	urls := []string{text}
	if text == Environment || text == "" {
		if urls, err = debuginfod.FromEnvironment(); err != nil {
			return err
		}
	} else if urls[0], err = debuginfod.Address(text); err != nil {
		return err
	}
	s := &to.Servers
	s.URLs = append(s.URLs, urls...)
	if s.Cache, err = debuginfod.CacheDir(); err != nil {
		return diag.Errorf(diag.Usage, "option", "--debuginfod", "no place for a cache: %w", err).
			WithHint("set XDG_CACHE_HOME to a directory of yours")
	}
	return nil
}

// From adds a value of --symbols-from to to: a server, or a directory with program files.
func From(to *session.Symbols, text string) error {
	if IsURL(text) {
		return Debuginfod(to, text)
	}
	if st, err := os.Stat(text); err != nil || !st.IsDir() {
		return diag.Errorf(diag.Usage, "option", "--symbols-from", "%s: no such directory", text).
			WithHint("give a directory with the files of programs, or http://HOST:PORT of a debuginfod server")
	}
	to.DebugDirs = append(to.DebugDirs, text)
	to.Servers.Plain = append(to.Servers.Plain, text)
	return nil
}

// Names parses --names: now or later.
func Names(to *session.Symbols, text string) error {
	switch text {
	case "now", "later":
		to.Later = text == "later"
		return nil
	}
	return diag.Errorf(diag.Usage, "option", "--names", "got %q, want now or later", text).
		WithHint("write --names later")
}
