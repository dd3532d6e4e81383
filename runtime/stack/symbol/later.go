package symbol

import "ppscript/runtime/stack/dso"

// This file names code whose file comes later than its events: from a server while the run goes
// on, or in another run that reads what was saved without names.

// Fetched forgets what was made of files of which more is known now: see dso.Store.Fetched.
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

// InFile names an address that is told as an offset in a file; call says that a call returns to
// it. It is as Resolve otherwise.
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
