package explore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// This file lets several runs read the same named pipe. Each statement at the
// prompt reads its input from the beginning, but a pipe can be read only once. So
// at its first use the pipe is read to its end into a temporary file, which is
// removed with the Workbench.

// maxPipe bounds the copy of a pipe, in bytes.
const maxPipe = 1 << 30

// A keptPipe is a pipe with the file into which its content is copied.
type keptPipe struct {
	in   *infile.File // nil when the pipe has been read to its end
	path string
	fail error // the error of the read, if it failed
}

// lasting returns the path of a recording that can be read repeatedly: input
// itself, or the copy of a pipe. If the user interrupts the statement while the
// pipe is copied, the next statement continues the copy.
func (s *Workbench) lasting(input string) (string, error) {
	k := s.pipes[input]
	if k == nil {
		st, err := os.Stat(input)
		if err != nil || st.Mode()&fs.ModeNamedPipe == 0 {
			return input, nil // opening the file will report an error
		}
		in, err := infile.Open(input, maxPipe)
		if err != nil {
			return input, nil
		}
		dir, err := s.directory()
		if err != nil {
			return "", errors.Join(err, in.Close())
		}
		if s.pipes == nil {
			s.pipes = map[string]*keptPipe{}
		}
		k = &keptPipe{in: in, path: filepath.Join(dir, "pipe")}
		s.pipes[input] = k
		if s.Say != nil {
			s.Say(input + " is a pipe: it is read to its end now, once for all runs")
		}
	}
	if k.in == nil {
		return k.path, k.fail
	}
	return k.path, k.read(s.Context(), input)
}

// read copies the rest of the pipe.
func (k *keptPipe) read(ctx context.Context, input string) error {
	out, err := os.OpenFile(k.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(k.in.CopyTo(ctx, out), out.Close())
	if ctx.Err() != nil {
		return err // interrupted: the next read continues
	}
	if err != nil {
		k.fail = diag.Errorf(diag.Usage, "read pipe", input, "%w", diag.Reason(err)).
			WithHint("save the recording, and name its file: perf record -o trace.data ...; ppscript repl --input trace.data")
	}
	err = k.in.Close()
	k.in = nil
	return errors.Join(k.fail, err)
}

// closePipes closes the pipes that were not read to their end.
func (s *Workbench) closePipes() error {
	var errs []error
	for _, k := range s.pipes {
		if k.in != nil {
			errs = append(errs, k.in.Close())
		}
	}
	s.pipes = nil
	return errors.Join(errs...)
}
