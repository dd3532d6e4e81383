package perfdata

import "ppscript/runtime/source/bytecursor"

// This file marks the end of recordings in pipe mode. Without a mark, a reader
// cannot distinguish a complete recording from one that was cut, because the
// sender was killed or the connection or disk failed. Recordings of ppscript
// announce an end mark in their head, and end with it. If an announced mark is
// missing, the reader counts the recording as ended early. All records before
// that are read in any case.
//
// The announcement and the mark are EVENT_UPDATE records of a special kind,
// which perf and older versions skip.

const (
	endKind = 'p' | 'p'<<8 | 's'<<16 | 'e'<<24 | 'n'<<32 | 'd'<<40 | 1<<56

	endPromised = 0
	endReached  = 1
)

// AppendEnd appends the end mark, after all records. streams are the streams of
// the head that announced the mark.
func AppendEnd(b []byte, streams []StreamInfo) []byte { return appendEndMark(b, streams, endReached) }

func appendEndMark(b []byte, streams []StreamInfo, what uint64) []byte {
	if len(streams) == 0 || len(streams[0].IDs) == 0 {
		return b
	}
	b = append(b, header(recEventUpdate, 0, recHeaderSize+3*8)...)
	b = le.AppendUint64(b, endKind)
	b = le.AppendUint64(b, streams[0].IDs[0]) // perf refuses unknown ids
	return le.AppendUint64(b, what)
}

// marks has the marks of a recording that were read so far.
type marks struct {
	promised bool // an end mark was announced
	finished bool // the end mark was read, or its lack was counted
	rounds   bool // the recording has rounds
	open     bool // samples were read since the last round
}

// take reads an end mark, or the announcement of one.
func (m *marks) take(c *bytecursor.Cursor) error {
	switch c.U64() {
	case endPromised:
		m.promised = true
	case endReached:
		m.finished = true
	}
	return c.Err
}

// early counts, once, that the recording ended before its writer ended it. why
// is added to the warnings.
func (f *File) early(why string) {
	if f.marks.finished {
		return
	}
	f.marks.finished = true
	f.loss.EndedEarly++
	f.warn("it ended early: %s", why)
}
