package tty

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/outfile"
)

// A History has the statements of this prompt and of earlier ones, oldest first.
//
// Its file is text. A statement begins at the start of a line; each further line of it begins
// with a TAB. Prompts that run at the same time append to the file under a lock, so that no
// statement is lost. A prompt reads the statements of others only when it starts. Only the owner
// can read the file, since statements contain names of processes and files.
type History struct {
	path    string
	limit   int
	entries []string
}

// maxHistory bounds the bytes of the file that are read.
const maxHistory = 16 << 20

// OpenHistory reads the statements in the file path, which need not exist; with "" they are
// kept in memory only. If there are more than limit, the newest are kept. If the file cannot
// be read, OpenHistory returns the error and an empty History that works in memory.
func OpenHistory(path string, limit int) (*History, error) {
	h := &History{path: path, limit: limit}
	if path == "" {
		return h, nil
	}
	err := h.locked(func(f *os.File) error {
		b, err := io.ReadAll(io.LimitReader(f, maxHistory))
		if err != nil {
			return err
		}
		h.entries = parse(b)
		if len(h.entries) <= 2*limit && len(b) < maxHistory {
			h.entries = h.entries[max(len(h.entries)-limit, 0):]
			return nil
		}
		h.entries = h.entries[max(len(h.entries)-limit, 0):]
		var kept []byte
		for _, e := range h.entries {
			kept = appendEntry(kept, e)
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		_, err = f.WriteAt(kept, 0)
		return err
	})
	if err != nil {
		h.path = ""
	}
	return h, err
}

// locked opens the file, locks it, and calls do.
func (h *History) locked(do func(f *os.File) error) (err error) {
	// NOFOLLOW: with sudo -E, HOME is another user's, whose link could lead to any
	// file.
	f, err := outfile.OpenNow(h.path, os.O_RDWR|os.O_CREATE|unix.O_NONBLOCK|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return nil // a device: nothing is kept
	}
	if st.Mode().Perm()&0o077 != 0 {
		// Restrict a file of an older version. This fails for another user's
		// file, which stays as it is.
		_ = f.Chmod(0o600)
	}
	if err := lock(f); err != nil {
		return err
	}
	return do(f)
}

// lockTries is the number of attempts to get the lock, milliseconds apart. A process that holds it
// for longer is stopped or hangs.
const lockTries = 200

func lock(f *os.File) error {
	for range lockTries {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("another program has it locked")
}

// Entries returns the statements, oldest first. The caller must not change
// them.
func (h *History) Entries() []string { return h.entries }

// Add adds a statement, unless it is the same as the last one.
func (h *History) Add(statement string) error {
	statement = strings.TrimLeft(strings.TrimRight(statement, " \t\r\n"), "\t\r\n")
	if statement == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == statement {
		return nil
	}
	h.entries = append(h.entries, statement)
	if len(h.entries) > h.limit {
		h.entries = slices.Delete(h.entries, 0, len(h.entries)-h.limit)
	}
	if h.path == "" {
		return nil
	}
	return h.locked(func(f *os.File) error {
		end, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		text := appendEntry(nil, statement)
		var last [1]byte
		if end > 0 {
			if _, err := f.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
				text = append([]byte{'\n'}, text...) // the last line was not written completely
			}
		}
		_, err = f.Write(text)
		return err
	})
}

func appendEntry(b []byte, statement string) []byte {
	return append(append(b, strings.ReplaceAll(statement, "\n", "\n\t")...), '\n')
}

func parse(b []byte) (entries []string) {
	for line := range bytes.Lines(b) {
		text := strings.TrimRight(string(line), "\r\n")
		if rest, ok := strings.CutPrefix(text, "\t"); ok && len(entries) > 0 {
			entries[len(entries)-1] += "\n" + rest
		} else if text != "" {
			entries = append(entries, text)
		}
	}
	return entries
}
