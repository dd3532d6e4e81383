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

// This file lets many runs read one pipe: each statement of the REPL reads the
// input from its begin, and a pipe has that once. So it is read to its end when it
// is wanted first, into a file that goes with the shop.

// maxPipe bounds the copy of a pipe, on disk.
const maxPipe = 1 << 30

// A keptPipe is a pipe with a copy of the bytes that were read.
type keptPipe struct {
	in   *infile.File // nil when all was read
	path string
	fail error // why it cannot be had
}

// lasting is a recording that can be read as often as one likes: input itself, or
// a copy of a pipe's content. When the statement is interrupted while it comes,
// the next one goes on.
func (s *Workbench) lasting(input string) (string, error) {
	k := s.pipes[input]
	if k == nil {
		st, err := os.Stat(input)
		if err != nil || st.Mode()&fs.ModeNamedPipe == 0 {
			return input, nil // opening it will give the error
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

// read takes the rest of the pipe.
func (k *keptPipe) read(ctx context.Context, input string) error {
	out, err := os.OpenFile(k.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(k.in.CopyTo(ctx, out), out.Close())
	if ctx.Err() != nil {
		return err // there may be more of it
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
