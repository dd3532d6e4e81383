package symbol

import "ppscript/runtime/stack/dso"

// This file names code whose file is found later than its events: fetched from a server during
// the run, or in another run that reads a result saved without names.

// Fetched forgets the tables of files for which more was fetched: see dso.Store.Fetched.
func (s *Symbolizer) Fetched(files []*dso.File) {
	if len(files) == 0 {
		return
	}
	changed := map[*dso.File]bool{}
	for _, f := range files {
		changed[f] = true
		s.tables.Drop(f)
		s.lines.Drop(f)
	}
	for at := range s.user {
		if changed[at.file] {
			delete(s.user, at)
		}
	}
}

// InFile is like Resolve, for an address given as an offset in a file; call says that it is a
// return address.
func (s *Symbolizer) InFile(f *dso.File, off uint64, call bool) []Frame {
	if s.full() {
		s.forget()
	}
	at := place{file: f, off: off, call: call}
	frames, ok := s.user[at]
	if !ok {
		frames = s.fileFrames(at)
		s.user[at] = frames
	}
	return frames
}
