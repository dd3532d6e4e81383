package sshlink

import "strings"

// This file is what a host's shell does: it says what machine that is, takes a copy of the program, checks
// it, and starts it. Any POSIX shell can, with coreutils or busybox.
//
// Lines of both sides, until messages follow:
//
//	host: ppscript-ssh 1 SYSTEM MACHINE        as uname has them
//	we:   HASH SIZE KEEP SUDO                  the last two are yes or no
//	host: have | want | no REASON              it has been kept, or must be sent
//	we:   SIZE bytes, if it wants them
//	host: run | no REASON                      messages follow
//
// The text has no quote of the kind that is around it, and one line, so that every login shell passes it on
// to sh.

// greeting begins the first line; what a login shell says before it is skipped.
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
	// Some places are mounted so that nothing there is executed.
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

// shellCommand is the words for ssh.
func shellCommand() string { return "exec /bin/sh -c '" + strings.Join(shellLines, "; ") + "'" }
