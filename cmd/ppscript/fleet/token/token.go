// Package token reads the secret that both sides of push= and pull= know, and that of a page: from the
// environment, or from a file that only its owner can read. There is no option for the secret
// itself, since ps shows the options of everybody. The command line calls it; it sends nothing.
package token

import (
	"io"
	"os"
	"strings"
	"syscall"

	"ppscript/runtime/text/diag"
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
	b, err := ReadSecret("read token", path, most,
		"make one: (umask 77; od -An -tx8 -N16 /dev/urandom | tr -d ' ' >"+path+")")
	if err != nil {
		return "", err
	}
	token := strings.TrimRight(string(b), "\r\n")
	if token == "" {
		return "", wrongf("read token", path, "is empty").
			WithHint("make one: od -An -tx8 -N16 /dev/urandom | tr -d ' ' >%s", path)
	}
	return token, nil
}

// ReadSecret reads a file of at most so many bytes that nobody but its owner, root or this user, can
// read. Make is the hint where there is none.
func ReadSecret(op, path string, most int64, make string) ([]byte, error) {
	// Not waiting: a pipe has no owner that keeps it to himself.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, wrongf(op, path, "%w", diag.Reason(err)).WithHint("%s", make)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, wrongf(op, path, "%w", diag.Reason(err)).WithHint("give another file")
	case !st.Mode().IsRegular():
		return nil, wrongf(op, path, "is not a regular file").WithHint("write the secret into a file")
	case st.Mode().Perm()&0o077 != 0:
		return nil, wrongf(op, path, "others can read it: got mode %04o, want 0600", st.Mode().Perm()).
			WithHint("chmod 600 %s", path)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
		return nil, wrongf(op, path, "it belongs to user %d", sys.Uid).
			WithHint("chown %d %s", os.Geteuid(), path)
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, wrongf(op, path, "%w", diag.Reason(err)).WithHint("give another file")
	case int64(len(b)) > most:
		return nil, wrongf(op, path, "got more than %d bytes", most).
			WithHint("write nothing but the secret into it")
	}
	return b, nil
}

func wrongf(op, path, format string, args ...any) *diag.Error {
	return diag.Errorf(diag.Usage, op, path, format, args...)
}
