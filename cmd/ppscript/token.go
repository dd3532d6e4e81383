package main

import (
	"io"
	"os"
	"strings"
	"syscall"

	"ppscript/runtime/diag"
)

// This file is where the secret comes from that both sides of push= and pull=
// know: the environment, or a file that only its owner can read. There is no
// option for the secret itself, since ps shows the options of everybody.

const tokenVariable = "PPSCRIPT_TOKEN"

// maxToken is more than anybody needs.
const maxToken = 4 << 10

// takeToken moves the secret out of the environment: our children (the traced
// command, git) must not have it, nor readers of their /proc files.
func takeToken() string {
	token := os.Getenv(tokenVariable)
	os.Unsetenv(tokenVariable)
	return token
}

// readToken reads the secret of a file; a newline behind it does not count.
func readToken(path string) (string, error) {
	// Not waiting: a pipe has no owner who keeps it to himself.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", usagef("read token", path, "%w", diag.Reason(err)).
			WithHint("make one: (umask 77; od -An -tx8 -N16 /dev/urandom | tr -d ' ' >%s)", path)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return "", usagef("read token", path, "%w", diag.Reason(err)).WithHint("give another file")
	case !st.Mode().IsRegular():
		return "", usagef("read token", path, "is not a regular file").WithHint("write the token into a file")
	case st.Mode().Perm()&0o077 != 0:
		return "", usagef("read token", path, "others can read it: got mode %04o, want 0600", st.Mode().
			Perm()).
			WithHint("chmod 600 %s", path)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
		return "", usagef("read token", path, "it belongs to user %d", sys.Uid).
			WithHint("chown %d %s", os.Geteuid(), path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	token := strings.TrimRight(string(b), "\r\n")
	switch {
	case err != nil:
		return "", usagef("read token", path, "%w", diag.Reason(err)).WithHint("give another file")
	case token == "":
		return "", usagef("read token", path, "is empty").
			WithHint("make one: od -An -tx8 -N16 /dev/urandom | tr -d ' ' >%s", path)
	case len(b) > maxToken:
		return "", usagef("read token", path, "got more than %d bytes", maxToken).
			WithHint("write nothing but the token into it")
	}
	return token, nil
}
