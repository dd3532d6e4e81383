package sshlink

import "strings"

// This file has the shell commands that run on a host: they print its architecture, receive a copy
// of the program, check it, and start it. They work in any POSIX shell with coreutils or busybox.
//
// The lines of both sides before the messages:
//
//	host: ppscript-ssh 1 SYSTEM MACHINE        as uname has them
//	we:   HASH SIZE KEEP SUDO                  the last two are yes or no
//	host: have | want | no REASON              it has been kept, or must be sent
//	we:   SIZE bytes, if it wants them
//	host: run | no REASON                      messages follow
//
// The commands contain no single quote, since they are quoted by these, and are joined to one line,
// so that every login shell passes them to sh unchanged.

// greeting begins the first line. Lines before it are from the login shell and
// are skipped.
const greeting = "ppscript-ssh 1 "

var shellLines = []string{
	`umask 077`,
	`d=`,
	`clean() { [ -z "$d" ] || rm -rf "$d"; }`,
	`trap clean EXIT`,
	`trap "exit 1" HUP INT TERM`,
	`no() { echo "no $*"; exit 1; }`,
	`echo "` + greeting + `$(uname -s) $(uname -m)"`,
	`read -r h n keep sudo || exit 1`,
	`good() { [ "$(sha256sum <"$1")" = "$h  -" ]; }`,
	// Some file systems are mounted noexec.
	`runs() { printf "#!/bin/sh\n" >"$1/try" && chmod 700 "$1/try" && "$1/try" && rm "$1/try"; }`,
	`command -v sha256sum >/dev/null || no "it has no sha256sum"`,
	`c=$HOME/.cache/ppscript/fleet`,
	`if [ -O "$c/$h" ] && good "$c/$h"; then f=$c/$h; echo have; else ` +
		`for t in "${TMPDIR:-/tmp}" /var/tmp "$HOME"; do ` +
		`d=$(mktemp -d "$t/ppscript-fleet-XXXXXXXX" 2>/dev/null) && runs "$d" 2>/dev/null && break; clean; d=; ` +
		`done; ` +
		`[ -n "$d" ] || no "neither in ${TMPDIR:-/tmp} nor in /var/tmp nor at home it may write and execute"; ` +
		`echo want; ` +
		`head -c "$n" >"$d/$h"; ` +
		`good "$d/$h" || no "what arrived is not what was sent"; ` +
		`chmod 700 "$d/$h"; f=$d/$h; ` +
		`if [ "$keep" = yes ]; then ` +
		`mkdir -p "$c" && mv -f "$f" "$c/$h" || no "it cannot be kept in $c"; f=$c/$h; clean; d=; fi; fi`,
	`as=`,
	`[ "$sudo" = no ] || as="sudo -n"`,
	`echo run`,
	`$as "$f" fleet remote "$d"`,
}

// shellCommand returns the command for ssh to run.
func shellCommand() string { return "exec /bin/sh -c '" + strings.Join(shellLines, "; ") + "'" }
