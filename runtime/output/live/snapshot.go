package live

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"ppscript/runtime/output"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// This file has --html: the page with the results in one file. It is written to a
// temporary file that then replaces the old one, so that readers never see a part of a
// page.

const (
	// maxSnapshotBytes bounds the compressed size of the intervals in a file; the newest ones
	// are kept.
	maxSnapshotBytes = 8 << 20
	// A snapshot is written when an interval has ended. To bound the share of time for
	// writing, a pause follows: restFactor times the time that the writing took, and at
	// least leastRest.
	leastRest  = time.Second
	restFactor = 20
)

// A Snapshot is the sink of option --html.
type Snapshot struct {
	*Store
	path string
	stop chan struct{}
	work sync.WaitGroup

	mu  sync.Mutex
	err error // the first error of writing
}

// SnapshotOpener returns the Opener of option --html.
func SnapshotOpener(path string) output.Opener {
	return output.Opener{Option: "html", Where: path, Open: func(ctx context.Context) (output.Sink, error) {
		s := &Snapshot{Store: NewStore(time.Now), path: path, stop: make(chan struct{})}
		if err := s.try(ctx); err != nil {
			return nil, diag.FileError("write --html", path, err).OrHint("give a file that you may write to")
		}
		return s, nil
	}}
}

// try returns an error if the file cannot be written, before events are opened. An existing
// file is kept until the first snapshot.
func (s *Snapshot) try(ctx context.Context) error {
	if st, err := os.Stat(s.path); err == nil && !st.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	f, err := outfile.Open(ctx, s.beside(), os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(s.beside()))
}

func (s *Snapshot) beside() string { return s.path + ".new" }

// Begin implements output.Sink.
func (s *Snapshot) Begin(about output.About) error {
	if err := s.Store.Begin(about); err != nil {
		return err
	}
	s.work.Add(1)
	go s.writer()
	return nil
}

// writer writes the file when intervals end. It is a separate goroutine, so that a
// slow disk does not delay the run.
func (s *Snapshot) writer() {
	defer s.work.Done()
	seen := State{}
	for {
		state, changed := s.State()
		if state.Newest != seen.Newest {
			seen = state
			began := time.Now()
			s.fail(s.write())
			select {
			case <-time.After(max(leastRest, restFactor*time.Since(began))):
			case <-s.stop:
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-s.stop:
			return
		}
	}
}

func (s *Snapshot) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && s.err == nil {
		s.err = err
	}
}

// Flush implements render.Renderer.
func (s *Snapshot) Flush() error {
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.Store.Flush()
}

// Close implements output.Sink.
func (s *Snapshot) Close() error {
	close(s.stop)
	s.work.Wait()
	if s.err != nil {
		return s.err // the first error is reported, and no file is written
	}
	if s.frame == nil {
		return nil // nothing was observed
	}
	if err := s.End(); err != nil {
		return err
	}
	return s.write()
}

// write writes a snapshot of the run.
func (s *Snapshot) write() error {
	err := s.replace()
	if err == nil {
		return nil
	}
	d := diag.FileError("write --html", s.path, err)
	d.Class = diag.Run // not an error of usage, since the file could be written when the run began
	return d
}

func (s *Snapshot) replace() (err error) {
	f, err := outfile.Open(context.Background(), s.beside(), os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(s.beside()) // it is incomplete
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	err = errors.Join(s.show(w), w.Flush(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(s.beside(), s.path)
}

// show writes the page with the kept intervals and records.
func (s *Snapshot) show(w io.Writer) error {
	about, err := json.Marshal(s.Run())
	if err != nil {
		return err
	}
	s.Store.mu.Lock()
	frames, size := s.history.frames, 0
	from := len(frames)
	for from > 0 && (from == len(frames) || size+len(frames[from-1].records) <= maxSnapshotBytes) {
		from--
		size += len(frames[from].records)
	}
	frames = append([]*Frame(nil), frames[from:]...)
	lists := []struct {
		name  string
		texts [][]byte
		left  int
	}{
		{"log", s.lines.since(0), s.lines.skipped}, {"details", s.details.since(0), s.details.skipped},
		{"messages", s.notes.since(0), s.notes.skipped},
	}
	s.Store.mu.Unlock()

	p := page()
	// A file has no HTTP headers, so the page itself contains the policy.
	head := strings.Replace(p.before, "<title>", `<meta http-equiv="Content-Security-Policy" content="`+
		p.policy+`'none'">`+"\n<title>", 1)
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	if err := embed64(w, `class="run"`, packed(about)); err != nil {
		return err
	}
	for _, f := range frames {
		attrs := fmt.Sprintf(`class="interval" data-number="%d"`, f.Number)
		if err := embed64(w, attrs, f.records); err != nil {
			return err
		}
	}
	for _, l := range lists {
		attrs := fmt.Sprintf(`class="list" data-name="%s" data-left="%d"`, l.name, l.left)
		if err := embed64(w, attrs, packed(l.texts...)); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, p.after)
	return err
}

// embed64 writes data as a script element of the page that browsers do not run.
func embed64(w io.Writer, attrs string, data []byte) error {
	text := base64.StdEncoding.EncodeToString(data)
	_, err := fmt.Fprintf(w, "<script type=\"text/plain\" %s>%s</script>\n", attrs, text)
	return err
}

func packed(texts ...[]byte) []byte {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	for _, t := range texts {
		zip.Write(t) // writes to memory do not fail
	}
	zip.Close()
	return b.Bytes()
}
