package dso

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"ppscript/runtime/system/privilege"
)

// VDSO returns the code that the kernel maps into every process. It is the same
// for all processes of one word size, and is read from our own memory. Nil if
// there is none, or if the processes run on another kernel.
func (s *Store) VDSO() *File {
	if s.vdso != nil || s.vdsoErr || s.opt.NoProc && !s.opt.SameKernel {
		return s.vdso
	}
	b, err := readVDSO(s.opt.Proc)
	if err != nil {
		s.vdsoErr = true
		return nil
	}
	f := &File{Path: "[vdso]", store: s, content: content{mem: b}}
	if im, err := f.Image(); err == nil {
		f.BuildID = im.BuildID()
	}
	s.vdso = f
	return f
}

func readVDSO(proc string) ([]byte, error) {
	maps, err := privilege.ReadFile(privilege.Processes, filepath.Join(proc, "self/maps"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(maps) {
		if !strings.HasSuffix(strings.TrimSpace(string(line)), "[vdso]") {
			continue
		}
		var start, end uint64
		if _, err := fmt.Sscanf(string(line), "%x-%x", &start, &end); err != nil || end <= start ||
			end-start > 1<<20 {
			break
		}
		mem, err := privilege.Open(privilege.Programs, filepath.Join(proc, "self/mem"))
		if err != nil {
			return nil, err
		}
		defer mem.Close()
		b := make([]byte, end-start)
		_, err = io.ReadFull(io.NewSectionReader(mem, int64(start), int64(len(b))), b)
		return b, err
	}
	return nil, errNoVDSO
}
