package perfdata

import (
	"golang.org/x/sys/unix"
)

// This file writes recordings in pipe mode, for sending events to other places
// while they happen: a head that describes the events, then the records. The head
// is made once, and sent first to each reader.

// PipeHead returns the head of a recording in pipe mode, with the formats of
// the streams. The streams must be tracepoints with different ids. The
// recording must end with AppendEnd.
func PipeHead(streams []StreamInfo, opt WriteOptions) ([]byte, error) {
	w := &Writer{to: destination{path: "pipe"}, opt: opt, streams: streams}
	for i := range w.streams {
		if s := &w.streams[i]; s.Format == "" && s.Attr.Type == unix.PERF_TYPE_TRACEPOINT {
			if err := w.readFormat(s); err != nil {
				return nil, err
			}
		}
	}
	return w.pipeHead(), nil
}

// startPipe writes the head, so that readers get the description before the first record.
func (w *Writer) startPipe() error {
	w.put(w.pipeHead())
	if err := w.to.out.Flush(); err != nil && w.err == nil {
		w.err = w.fail("%w", err)
	}
	return w.err
}

func (w *Writer) pipeHead() []byte {
	b := append([]byte(nil), magic...)
	b = le.AppendUint64(b, pipeHeaderSize)
	for i := range w.streams {
		s := &w.streams[i]
		body := encodeAttr(&s.Attr)
		for _, id := range s.IDs {
			body = le.AppendUint64(body, id)
		}
		b = append(append(b, header(recHeaderAttr, 0, uint16(recHeaderSize+len(body)))...), body...)
	}
	for _, f := range w.features() {
		if f.id == featTracingData {
			body := append(f.body, make([]byte, -len(f.body)&7)...)
			b = append(b, header(recTracingData, 0, recHeaderSize+4)...)
			b = le.AppendUint32(b, uint32(len(body)))
			b = append(b, body...)
			continue
		}
		size := recHeaderSize + 8 + len(f.body) + -len(f.body)&7
		if size >= 1<<16 {
			continue // too large; events can be read without it
		}
		b = append(b, header(recHeaderFeature, 0, uint16(size))...)
		b = le.AppendUint64(b, uint64(f.id))
		b = append(append(b, f.body...), make([]byte, -len(f.body)&7)...)
	}
	return appendEndMark(b, w.streams, endPromised)
}

// AppendRound appends a FINISHED_ROUND record: the end of a pass. Readers make
// the records before the last mark but one visible (ordered.go).
func AppendRound(b []byte) []byte { return append(b, header(recFinishedRound, 0, recHeaderSize)...) }
