package main

import (
	"ppscript/cmd/ppscript/permit"
	"ppscript/runtime/eventstring"
	"ppscript/runtime/kernel"
	"ppscript/runtime/script"
	"ppscript/runtime/session"
)

// writers are the common options that name files to write.
var writers = map[string]bool{
	"output": true, "flame-graph": true, "pprof": true, "speedscope": true, "perfetto": true,
	"firefox": true, "parquet": true, "html": true,
}

// ownWords are the common options that only the user gives: a script cannot have
// defaults for them.
var ownWords = map[string]bool{
	"allow": true, "token-file": true, "http": true, "http-token": true, "otlp": true, "otlp-profiles": true,
	"pyroscope": true, "no-sandbox": true, "require-signed": true, "signers": true,
}

// written are the files that common options name.
func (inv *invocation) written() (paths []string) {
	for name := range writers {
		paths = append(paths, inv.flags.texts(name)...)
	}
	return paths
}

// permits are the rights of an invocation.
func (inv *invocation) permits(say func(string)) *permit.Permits {
	p := &permit.Permits{Typed: typedIn(inv.host), Given: map[string]bool{}, Say: say,
		Files: inv.common.allowFiles, Peers: inv.common.allowPeers, Verbose: inv.common.options.Verbose > 0}
	for _, text := range inv.typed {
		p.Given[text] = true
	}
	for _, text := range inv.eventTexts() {
		sources, err := eventstring.Parse(text, kernel.ParseCPUList)
		if err != nil {
			continue // which the user was told
		}
		for _, s := range sources {
			for _, address := range append(s.Pull(), s.Push()...) {
				p.Given[address] = true
			}
		}
	}
	return p
}

// permitOptions checks the files of common options whose values come from the script.
func permitOptions(inv *invocation, may func(session.Use) error) error {
	for _, path := range inv.writes {
		if path == "-" || path == "" {
			continue // stdout
		}
		if err := may(session.Use{Kind: session.Writes, Name: path, Given: path}); err != nil {
			return err
		}
	}
	return nil
}

func typedIn(host *script.Host) func() bool {
	return func() bool { return len(host.Files()) == 0 }
}
