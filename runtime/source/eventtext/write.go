package eventtext

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// looks reports whether head can be the begin of a text of events: the first
// line that is neither empty nor a comment must declare an event.
func looks(head []byte) bool {
	for line := range bytes.Lines(head) {
		words, err := split(string(bytes.TrimSuffix(line, []byte("\n"))))
		if err != nil {
			return false
		}
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		system, name, ok := strings.Cut(words[0], ":")
		return ok && ident(system) && ident(name)
	}
	return false
}

const sampleType = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
	unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_RAW

// write reads events from r and writes them to a recording at path.
func write(path string, r io.Reader) error {
	c, err := parse(r)
	if err != nil {
		return (&diag.Error{Op: "events", Cause: err, Class: diag.Usage}).
			WithHint("write: sched:sched_wakeup pid:s32, then: 1us 0 bash/10 sched_wakeup pid=7")
	}
	w, err := perfdata.Create(path, perfdata.WriteOptions{Version: "ppscript", Info: &perfdata.Info{
		Hostname:   "written",
		OSRelease:  "0",
		Arch:       "x86_64",
		Version:    "ppscript",
		CPUsOnline: 1,
		CPUsAvail:  1,
		PageSize:   4096,
		Cmdline:    []string{"ppscript"},
	}})
	if err != nil {
		return err
	}
	if err := c.write(w); err != nil {
		w.Finish()
		return err
	}
	return w.Finish()
}

func (c *capture) write(w *perfdata.Writer) error {
	for i, s := range c.schemas {
		attr := unix.PerfEventAttr{
			Type:        unix.PERF_TYPE_TRACEPOINT,
			Config:      uint64(i + 1),
			Sample:      1,
			Sample_type: sampleType,
			Bits:        unix.PerfBitSampleIDAll | unix.PerfBitComm,
		}
		err := w.Add(perfdata.StreamInfo{
			Attr:   attr,
			IDs:    []uint64{uint64(i + 1)},
			Name:   s.system + ":" + s.name,
			System: s.system,
			Format: s.format(i + 1),
		})
		if err != nil {
			return err
		}
	}
	names := map[int32]string{}
	for i := range c.entries {
		e := &c.entries[i]
		if e.comm != "" && names[e.tid] != e.comm {
			names[e.tid] = e.comm
			if err := w.Write(e.commRecord()); err != nil {
				return err
			}
		}
		if err := w.Write(e.record()); err != nil {
			return err
		}
	}
	return w.FinishedRound()
}

// record makes a PERF_RECORD_SAMPLE or PERF_RECORD_LOST in the form of the
// kernel.
func (e *entry) record() []byte {
	if e.schema < 0 {
		b := head(unix.PERF_RECORD_LOST)
		b = le.AppendUint64(le.AppendUint64(b, 1), e.lost)
		return finish(e.trailer(b, 1))
	}
	b := head(unix.PERF_RECORD_SAMPLE)
	b = le.AppendUint64(b, uint64(e.schema+1))
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.pid)), uint32(e.tid))
	b = le.AppendUint64(b, uint64(e.time))
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.cpu)), 0)
	b = le.AppendUint64(b, 1)
	raw := e.raw
	for (len(raw)+4)%8 != 0 {
		raw = append(raw, 0)
	}
	b = le.AppendUint32(b, uint32(len(raw)))
	return finish(append(b, raw...))
}

func (e *entry) commRecord() []byte {
	b := head(unix.PERF_RECORD_COMM)
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.pid)), uint32(e.tid))
	b = append(b, e.comm...)
	b = append(b, make([]byte, 8-len(e.comm)%8)...)
	return finish(e.trailer(b, 1))
}

// trailer appends the struct sample_id, which ends records that are not
// samples.
func (e *entry) trailer(b []byte, id uint64) []byte {
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.pid)), uint32(e.tid))
	b = le.AppendUint64(b, uint64(e.time))
	b = le.AppendUint32(le.AppendUint32(b, uint32(e.cpu)), 0)
	return le.AppendUint64(b, id)
}

func head(typ uint32) []byte { return le.AppendUint32(make([]byte, 0, 128), typ)[:8] }

func finish(b []byte) []byte {
	le.PutUint32(b[4:], 0)
	le.PutUint16(b[6:], uint16(len(b)))
	return b
}

// maxEvents bounds a file of events, in bytes: some 200,000 events. All events
// are in memory at once, in several times the size of their text.
const maxEvents = 16 << 20

// eventsIn returns the text of a file of events. It is nil if the file has no
// events as text, or cannot be opened; the caller then opens it as a recording
// and reports the error.
func eventsIn(input string) ([]byte, error) {
	f, err := infile.Open(input, maxEvents)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	// Bytes read from a pipe cannot be read again, and a pipe may not have a
	// writer so far.
	if !f.Regular() {
		return nil, nil
	}
	var text bytes.Buffer
	head := &headedWriter{to: &text}
	err = f.CopyTo(context.Background(), head)
	switch {
	case head.other:
		return nil, nil
	case err != nil:
		return nil, diag.Errorf(diag.Usage, "events", input, "%w", diag.Reason(err)).
			WithHint("keep less in one file, or record: ppscript record -o trace.data -e EVENT")
	}
	return text.Bytes(), nil
}

// A headedWriter passes on a text that begins like events, and ends the copying of
// any other file with an error.
type headedWriter struct {
	to    *bytes.Buffer
	known bool
	other bool
}

func (h *headedWriter) Write(b []byte) (int, error) {
	if !h.known {
		h.known = true
		if h.other = !looks(b[:min(len(b), 4096)]); h.other {
			return 0, errors.New("not events")
		}
	}
	return h.to.Write(b)
}

// Recording returns the path of a recording for an input. If the input is a file
// with events as text, or such a text itself (of several lines), a recording is
// made from it in the directory that dir returns; the caller removes that
// directory. Otherwise the input itself is the path.
func Recording(input string, dir func() (string, error)) (string, error) {
	if input == "-" {
		return input, nil
	}
	text := []byte(input)
	if !strings.Contains(input, "\n") {
		var err error
		if text, err = eventsIn(input); text == nil || err != nil {
			return input, err
		}
	}
	d, err := dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(d, "events.data")
	err = write(path, bytes.NewReader(text))
	var wrong *diag.Error
	if errors.As(err, &wrong) && wrong.Op == "events" && !strings.Contains(input, "\n") {
		wrong.Subject = input
	}
	return path, err
}
