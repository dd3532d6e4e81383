package permit

import (
	"maps"
	"slices"

	"ppscript/runtime/text/diag"
)

// This file lists those common options of scripts that let a run do more than observe: write
// files, talk to other machines, or change its rights. From this list follow which options a
// script may set itself, which are reported of a run, and which --look-only refuses.

// A reach says what an option lets a run do beyond observing.
type reach uint8

const (
	// writes marks options that name files to write.
	writes reach = 1 << iota
	// sends marks options that make the run talk to other machines.
	sends
	// rights marks options that the rights of the run depend on.
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

// Options returns the names of all these options, sorted.
func Options() []string { return slices.Sorted(maps.Keys(options)) }

// Writes reports that an option names a file to write.
func Writes(option string) bool { return options[option] == writes }

// Users reports that only the user may give an option: a script cannot set a default for
// it.
func Users(option string) bool { return options[option]&(sends|rights) != 0 }

// Senders returns the options that make a run talk to other machines.
func Senders() (names []string) {
	for _, name := range Options() {
		if options[name] == sends {
			names = append(names, name)
		}
	}
	return names
}

// ForOthers is the option of runs that another machine asked for.
const ForOthers = "for-others"

// LookOnly is the option that refuses everything but observing.
const LookOnly = "look-only"

// Look is an error if --look-only refuses an option. Options that only narrow
// rights are allowed.
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
