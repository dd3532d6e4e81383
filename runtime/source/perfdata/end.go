package perfdata

import "ppscript/runtime/source/bytecursor"

// This file tells a recording in pipe mode that its writer ended from one that
// broke off, since the sender was killed or the connection or the disk failed.
// A pipe of perf just stops, so that both look alike. Ours say in their head
// that an end mark will come, and write it last; a reader that was promised one
// and did not get it counts the recording as ended early. All records before
// are read either way.
//
// Both are EVENT_UPDATE records of a kind of our own, which perf and versions
// that do not know it skip.

const (
	endKind = 'p' | 'p'<<8 | 's'<<16 | 'e'<<24 | 'n'<<32 | 'd'<<40 | 1<<56

	endPromised = 0
	endReached  = 1
)

// AppendEnd appends the end mark: the writer has written all it had. Streams
// are the streams of the head, which has promised it.
func AppendEnd(b []byte, streams []StreamInfo) []byte { return appendEndMark(b, streams, endReached) }

func appendEndMark(b []byte, streams []StreamInfo, what uint64) []byte {
	if len(streams) == 0 || len(streams[0].IDs) == 0 {
		return b
	}
	b = append(b, header(recEventUpdate, 0, recHeaderSize+3*8)...)
	b = le.AppendUint64(b, endKind)
	b = le.AppendUint64(b, streams[0].IDs[0]) // perf refuses ids that it does not know
	return le.AppendUint64(b, what)
}

// The marks of a recording's end that were seen.
type marks struct {
	promised bool // an end mark will come
	finished bool // it has come, or its lack is counted
	rounds   bool // the recording has rounds
	open     bool // samples have come since the last one
}

// take takes an end mark, or the promise of one.
func (m *marks) take(c *bytecursor.Cursor) error {
	switch c.U64() {
	case endPromised:
		m.promised = true
	case endReached:
		m.finished = true
	}
	return c.Err
}

// early counts that the recording ended before its writer ended it, once; why
// goes to the warnings.
func (f *File) early(why string) {
	if f.marks.finished {
		return
	}
	f.marks.finished = true
	f.loss.EndedEarly++
	f.warn("it ended early: %s", why)
}
