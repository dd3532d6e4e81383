package perfdata

import "golang.org/x/sys/unix"

// StreamInfos returns the events of the recording in the form for a Writer, to
// write all or a part of the recording again.
func (f *File) StreamInfos() []StreamInfo {
	infos := make([]StreamInfo, len(f.attrs))
	for i := range f.attrs {
		a := &f.attrs[i]
		infos[i] = StreamInfo{Attr: a.PerfEventAttr, IDs: a.ids, Name: f.streams[i].Label}
		if a.Type != unix.PERF_TYPE_TRACEPOINT {
			continue
		}
		if t := f.formatOf(a.Config); t != nil {
			infos[i].System, infos[i].Format = t.system, t.text
		}
	}
	return infos
}
