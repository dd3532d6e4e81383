package permit

import (
	"maps"
	"slices"

	"ppscript/runtime/text/diag"
)

// This file knows which of the options that every script has do more than look. All callers are
// here: which users may give them, what is told of a run, and what --look-only refuses.

// A reach is what an option lets a run do.
type reach uint8

const (
	// writes is of options that name files which are written.
	writes reach = 1 << iota
	// sends is of those by which it talks to other machines.
	sends
	// rights is of those that the rights of a run depend on.
	rights
)

var options = map[string]reach{
	"output": writes, "flame-graph": writes, "pprof": writes, "perfetto": writes,
	"firefox": writes, "parquet": writes, "html": writes,
	"otlp": sends, "otlp-profiles": sends, "pyroscope": sends,
	"debuginfod": sends, "symbols-from": sends,
	"http": rights, "http-token": rights, "allow": rights, "token-file": rights, "no-sandbox": rights,
	"cri": rights, "require-signed": rights, "signers": rights, "tls-key": rights, "tls-cert": rights, "tls-peers": rights,
}

// Options are the names of all of them, in order.
func Options() []string { return slices.Sorted(maps.Keys(options)) }

// Writes reports that an option names a file to write.
func Writes(option string) bool { return options[option] == writes }

// Users reports that only the user gives an option: a script cannot have a default for it.
func Users(option string) bool { return options[option]&(sends|rights) != 0 }

// Senders are the options by which a run talks to other machines.
func Senders() (names []string) {
	for _, name := range Options() {
		if options[name] == sends {
			names = append(names, name)
		}
	}
	return names
}

// ForOthers is the option of runs that somebody at another machine asks for.
const ForOthers = "for-others"

// LookOnly is the option that refuses all that does more than look.
const LookOnly = "look-only"

// Look refuses an option with --look-only. Rights may be narrowed.
func Look(option string) error {
	if options[option] == 0 || option == "require-signed" || option == "signers" {
		return nil
	}
	return lookOnly("option", "--"+option)
}

func lookOnly(op, subject string) error {
	return diag.Errorf(diag.Usage, op, subject, "--look-only: nothing is written, sent or listened to").
		WithHint("leave it out, or --look-only")
}
