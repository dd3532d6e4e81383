package diff

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ppscript/runtime/result/compare"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// This file finds out the kinds of the files of a comparison, and reads them. To get a profiler's
// results of a recording it runs this program as a child process, in its own sandbox.

var zeroTime time.Time

// A source is one file of one side of the comparison; side is 0 or 1.
type source struct {
	side int
	name string
	file *os.File
	kind kind
}

type kind uint8

const (
	records kind = iota // written by --format json
	parts               // written by --partials
	recording
)

type sources []*source

func (s sources) close() (err error) {
	for _, one := range s {
		if one.file != nil {
			err = errors.Join(err, one.file.Close())
		}
	}
	return err
}

// sources opens the files of both sides.
func (o *options) sources(ctx context.Context, env Environment, sides [2]string, script []string) (
	list sources, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, list.close())
		}
	}()
	for side, text := range sides {
		if text == "" {
			continue // with --baseline, the second side is the current run
		}
		names := []string{text}
		if _, err := os.Stat(text); err != nil && strings.Contains(text, ",") {
			names = strings.Split(text, ",")
		}
		for _, name := range names {
			s := &source{side: side, name: name}
			if err := s.open(); err != nil {
				return list, err
			}
			list = append(list, s)
		}
	}
	var recordings []*source
	for _, s := range list {
		if s.kind == recording {
			recordings = append(recordings, s)
		}
	}
	switch {
	case len(recordings) == 0 && len(script) > 0:
		return list, diag.Errorf(diag.Usage, "diff", script[0], "the files have results of their own").
			WithHint("leave out what is behind --; a profiler is for recordings")
	case len(recordings) == 0:
		return list, nil
	case len(script) == 0:
		return list, diag.Errorf(diag.Usage, "diff", recordings[0].name,
			"it is a recording, and no profiler is named").
			WithHint("write: ppscript diff %s %s -- profile -g", sides[0], sides[1])
	}
	interval := intervalOf(ctx, recordings, script)
	for _, s := range recordings {
		if err := s.profile(ctx, env, script, interval); err != nil {
			return list, err
		}
	}
	return list, nil
}

// open opens a file and finds out its kind from its first bytes.
func (s *source) open() error {
	fail := func(err error) error {
		return diag.FileError("read results", s.name, err).
			OrHint("give a file that a run wrote with --format json or --partials, or a recording")
	}
	st, err := os.Stat(s.name)
	if err != nil {
		return fail(err)
	}
	if st.IsDir() { // perf record --threads makes directories
		s.kind = recording
		return nil
	}
	if s.file, err = infile.OpenNow(s.name); err != nil {
		return fail(err)
	}
	head := make([]byte, len(mergeable.Header))
	n, err := io.ReadFull(s.file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return fail(err)
	}
	switch head = head[:n]; {
	case string(head) == mergeable.Header:
		s.kind = parts
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
		s.kind = records
	case bytes.HasPrefix(head, []byte("PERFILE2")), bytes.HasPrefix(head, []byte("\x17\x08\x44tracing")):
		s.kind = recording
	default:
		return fail(errors.New("it has neither results nor a recording"))
	}
	_, err = s.file.Seek(0, io.SeekStart)
	return err
}

// intervalOf returns the interval for the profiler's results: a twentieth of the shortest
// recording, or 0 if the profiler's options already have an interval.
func intervalOf(ctx context.Context, list []*source, script []string) time.Duration {
	if slices.ContainsFunc(script, func(word string) bool {
		return strings.HasPrefix(word, "-i") || strings.HasPrefix(word, "--interval")
	}) {
		return 0
	}
	const pieces, usual, least = 20, 100 * time.Millisecond, time.Millisecond
	shortest := time.Duration(0)
	for _, s := range list {
		length := lengthOf(ctx, s.name)
		if length <= 0 {
			return usual // the run will report what is wrong with the recording
		}
		if shortest == 0 || length < shortest {
			shortest = length
		}
	}
	return max(least, shortest/pieces)
}

// lengthOf returns the duration of a recording; 0 if it is not known.
func lengthOf(ctx context.Context, path string) time.Duration {
	program, err := os.Executable()
	if err != nil {
		return 0
	}
	out := &head{most: 1 << 20}
	cmd := exec.CommandContext(ctx, program, "info", "--format", "json", path)
	cmd.Stdout = out
	if cmd.Run() != nil {
		return 0
	}
	var about struct {
		Data struct {
			First int64 `json:"first_ns"`
			Last  int64 `json:"last_ns"`
		}
	}
	if json.Unmarshal(out.text.Bytes(), &about) != nil {
		return 0
	}
	return time.Duration(about.Data.Last - about.Data.First)
}

// mostSaid bounds the bytes that are kept of a run's standard error.
const mostSaid = 64 << 10

// profile runs a profiler over a recording and keeps its JSON records in an unnamed temporary file,
// which becomes s.file.
func (s *source) profile(ctx context.Context, env Environment, script []string,
	interval time.Duration) error {
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			return err
		}
		s.file = nil
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "ppscript-diff-")
	if err != nil {
		return diag.FileError("keep results", os.TempDir(), err).
			OrHint("set TMPDIR to a directory that you may write to")
	}
	s.file = f
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	words := append(slices.Clone(script), "--input", s.name, "--format", "json")
	if interval > 0 {
		words = append(words, "-i", strconv.FormatInt(interval.Nanoseconds(), 10)+"ns")
	}
	cmd := exec.CommandContext(ctx, program, words...)
	cmd.Stdout = f
	said := &head{most: mostSaid}
	cmd.Stderr = said
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	err = cmd.Run()
	if status := (*exec.ExitError)(nil); errors.As(err, &status) {
		io.WriteString(env.Stderr, said.text.String())
		return diag.Errorf(diag.Run, "diff", s.name, "%s could not read it", script[0]).
			WithHint("try: ppscript %s --input %s", strings.Join(script, " "), s.name)
	}
	if err != nil {
		return err
	}
	s.kind = records
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// A head keeps the first most bytes that are written to it.
type head struct {
	text bytes.Buffer
	most int
}

func (h *head) Write(p []byte) (int, error) {
	h.text.Write(p[:min(len(p), max(0, h.most-h.text.Len()))])
	return len(p), nil
}

// read reads all files into c.
func (s sources) read(c *compare.Comparison) error {
	for _, one := range s {
		var err error
		if one.kind == parts {
			err = c.Parts(one.side, bufio.NewReader(one.file))
		} else {
			err = c.Records(one.side, one.name).Read(one.file)
		}
		if err != nil {
			return diag.Errorf(diag.Usage, "read results", one.name, "%w", err).
				WithHint("give a file that a run wrote with --format json or --partials, best with -i 1s")
		}
	}
	return nil
}
