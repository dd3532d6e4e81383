// Package token reads the secret that both sides of push= and pull= know, and that of a page: from the
// environment, or from a file that only its owner can read. There is no option for the secret
// itself, since ps shows the options of everybody. The command line calls it; it sends nothing.
package token

import (
	"io"
	"os"
	"strings"
	"syscall"

	"ppscript/runtime/diag"
)

// Variable is what has it in the environment.
const Variable = "PPSCRIPT_TOKEN"

// most is more than anybody needs.
const most = 4 << 10

// Take moves the secret out of the environment: our children (the traced
// command, git) must not have it, nor readers of their /proc files.
func Take() string {
	token := os.Getenv(Variable)
	os.Unsetenv(Variable)
	return token
}

// Read reads the secret of a file; a newline behind it does not count.
func Read(path string) (string, error) {
	// Not waiting: a pipe has no owner who keeps it to himself.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", wrongf("read token", path, "%w", diag.Reason(err)).
			WithHint("make one: (umask 77; od -An -tx8 -N16 /dev/urandom | tr -d ' ' >%s)", path)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return "", wrongf("read token", path, "%w", diag.Reason(err)).WithHint("give another file")
	case !st.Mode().IsRegular():
		return "", wrongf("read token", path, "is not a regular file").WithHint("write the token into a file")
	case st.Mode().Perm()&0o077 != 0:
		return "", wrongf("read token", path, "others can read it: got mode %04o, want 0600", st.Mode().
			Perm()).
			WithHint("chmod 600 %s", path)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
		return "", wrongf("read token", path, "it belongs to user %d", sys.Uid).
			WithHint("chown %d %s", os.Geteuid(), path)
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	token := strings.TrimRight(string(b), "\r\n")
	switch {
	case err != nil:
		return "", wrongf("read token", path, "%w", diag.Reason(err)).WithHint("give another file")
	case token == "":
		return "", wrongf("read token", path, "is empty").
			WithHint("make one: od -An -tx8 -N16 /dev/urandom | tr -d ' ' >%s", path)
	case len(b) > most:
		return "", wrongf("read token", path, "got more than %d bytes", most).
			WithHint("write nothing but the token into it")
	}
	return token, nil
}

func wrongf(op, path, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Usage, op, path, format, args...)
}
