package dso

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/unit"
)

// This file bounds the memory for reading an untrusted file. Root may profile
// programs of any user. A sparse file of 2 GiB costs its owner nothing, and
// must not cost us 2 GiB, or the rest of the run.
//
// The bounds limit the kept tables, to tens of MB, not the file: programs of
// some GB are usual, and a part of their tables is better than nothing.

// MaxSection bounds a section that is read into memory, after decompression.
const MaxSection = 64 << 20

// maxSections bounds the sections of a file, maxNames the bytes of their names,
// maxNotes the sections that are searched for a build-id.
const (
	maxSections = 1<<16 - 1
	maxNames    = 1 << 20
	maxNotes    = 64
)

// A TooLarge is the error of a table that would take too much memory.
type TooLarge struct {
	Subject     string
	Bytes, Most uint64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s too large: got %s, want at most %s", e.Subject,
		unit.Size(int64(min(e.Bytes, 1<<62))),
		unit.Size(int64(e.Most)))
}

// ErrExpired is the reason if reading a file took too long.
var ErrExpired = errors.New("reading took too long")

// ErrNoMemory is the reason if memory is too scarce to read a part of a file.
var ErrNoMemory = errors.New("too little memory is left")

// modest returns an error if the header of an ELF file declares larger tables
// than any program needs, since debug/elf trusts the header.
func modest(r io.ReaderAt, size int64) error {
	var h [64]byte
	if n, err := r.ReadAt(h[:], 0); n < 52 {
		return errors.Join(errors.New("no ELF header"), err)
	}
	if string(h[:4]) != elf.ELFMAG {
		return nil // debug/elf reports the error
	}
	var order binary.ByteOrder = binary.LittleEndian
	if h[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
		order = binary.BigEndian
	}
	wide := h[elf.EI_CLASS] == byte(elf.ELFCLASS64)
	var at uint64
	var each, count, names int
	if wide {
		at, each, count, names = order.Uint64(h[40:]), int(order.Uint16(h[58:])), int(order.Uint16(h[60:])),
			int(order.Uint16(h[62:]))
	} else {
		at, each, count, names = uint64(order.Uint32(h[32:])), int(order.Uint16(h[46:])),
			int(order.Uint16(h[48:])), int(order.Uint16(h[50:]))
	}
	switch {
	case at == 0:
		return nil // there are no sections
	case count == 0 || names == int(elf.SHN_XINDEX):
		return fmt.Errorf("more than %d sections", maxSections)
	case names >= count:
		return errors.New("no names of sections")
	}
	var s [64]byte
	if n, err := r.ReadAt(s[:], int64(min(at, 1<<62))+int64(names*each)); n < 40 {
		return errors.Join(errors.New("section headers are not in the file"), err)
	}
	long := uint64(order.Uint32(s[20:]))
	if wide {
		long = order.Uint64(s[32:])
	}
	if long > maxNames {
		return &TooLarge{"names of sections", long, maxNames}
	}
	return nil
}

// piece is the number of bytes of a section that are read at once.
const piece = 1 << 20

// Pieces calls fn with the bytes of a section, in order, in pieces of at most a
// MiB that begin at multiples of a MiB. Holes of the file, which are zeros, are
// left out. It reads at most most bytes; a *TooLarge says that there are more.
// The bytes are valid until fn returns; an error of fn ends the reading.
func (im *Image) Pieces(s *elf.Section, most uint64, fn func(at uint64, b []byte) error) error {
	if s.Flags&elf.SHF_COMPRESSED != 0 {
		b, err := im.SectionData(s)
		for at := 0; at < len(b) && err == nil; at += piece {
			err = fn(uint64(at), b[at:min(at+piece, len(b))])
		}
		return err
	}
	if s.Type == elf.SHT_NOBITS {
		return fmt.Errorf("section %s has no bytes", s.Name)
	}
	if s.Offset > uint64(im.size) || s.FileSize > uint64(im.size)-s.Offset {
		return fmt.Errorf("section %s: got %d bytes, more than the file has", s.Name, s.FileSize)
	}
	buf := make([]byte, min(piece, s.FileSize))
	read := uint64(0)
	for at := uint64(0); at < s.FileSize; {
		if full := im.nextData(s.Offset + at); full > s.Offset+at+piece {
			at = (full - s.Offset) / piece * piece
			continue
		}
		n := min(uint64(len(buf)), s.FileSize-at)
		if read += n; read > most {
			return &TooLarge{"section " + s.Name, s.FileSize, most}
		}
		if im.expired() {
			return ErrExpired
		}
		if _, err := s.ReadAt(buf[:n], int64(at)); err != nil && err != io.EOF {
			return err
		}
		if err := fn(at, buf[:n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// nextData is the offset of the next data in the file, at or after off.
func (im *Image) nextData(off uint64) uint64 {
	if im.of == nil || im.of.file == nil {
		return off
	}
	at, err := unix.Seek(int(im.of.file.Fd()), int64(off), unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return uint64(im.size) // only a hole is left
	case err != nil:
		return off // the file system does not support it
	}
	return uint64(at)
}

// expired reports that no more may be read.
func (im *Image) expired() bool { return im.of != nil && im.of.store.expired() }

// fits reports that there is memory for a number of bytes.
func (im *Image) fits(bytes int64) bool {
	return im.of == nil || im.of.store == nil || im.of.store.opt.Fits == nil || im.of.store.opt.Fits(bytes)
}

// Expired reports that no more may be read, for packages that make tables from
// an Image.
func (im *Image) Expired() bool { return im.expired() }

// An Absent is the error for a part of a file that is in another, missing file.
type Absent struct{ Subject, Path string }

func (e *Absent) Error() string { return e.Subject + " is in " + e.Path + ", which is not there" }

// Tell calls Note for errors about parts that the file has but that were not read: a
// *TooLarge, an *Absent, or ErrExpired. Other errors are about damaged files.
func (s *Store) Tell(f *File, err error) {
	if s == nil || s.opt.Note == nil || err == nil {
		return
	}
	var large *TooLarge
	var absent *Absent
	if errors.As(err, &large) {
		err = large
	} else if errors.As(err, &absent) {
		err = absent
	} else if !errors.Is(err, ErrExpired) {
		return
	}
	s.opt.Note(f, err)
}

// Expired reports that no more of any file may be read.
func (s *Store) Expired() bool { return s.expired() }

func (s *Store) expired() bool { return s != nil && s.opt.Expired != nil && s.opt.Expired() }
