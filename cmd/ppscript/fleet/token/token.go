// Package token reads the secret that protects push= and pull=, a fleet, or a page of --http. It
// comes from the environment, or from a file that only its owner can read. There is no option for
// the secret itself, because ps shows the arguments of all processes. The command line calls the
// package; it sends nothing.
package token

import (
	"io"
	"os"
	"strings"
	"syscall"

	"ppscript/runtime/text/diag"
)

// Variable is the environment variable with the secret.
const Variable = "PPSCRIPT_TOKEN"

// most bounds the size of a file with a secret, in bytes.
const most = 4 << 10

// Take returns the secret from the environment and removes it there. Child
// processes (the observed command, git) must not inherit it.
func Take() string {
	token := os.Getenv(Variable)
	os.Unsetenv(Variable)
	return token
}

// Read reads the secret in a file, without a newline at its end.
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

// ReadSecret reads a file with a secret, of at most most bytes. It is an error if the file belongs
// to somebody other than root or this user, or if others can read it. make is the hint if there is
// no file.
func ReadSecret(op, path string, most int64, make string) ([]byte, error) {
	// NONBLOCK: a named pipe is refused below, and must not be waited for.
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
