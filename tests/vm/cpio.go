package vm

import (
	"fmt"
	"io"
	"os"
	"path"
)

// A cpio writes the "newc" archive that the kernel unpacks as its first root
// file system: for each entry a header of 8-digit hexadecimal numbers, the
// name and the content, each padded to 4 bytes. Everything belongs to root.
type cpio struct {
	w    io.Writer
	seen map[string]bool
	ino  int
	err  error
}

func newCpio(w io.Writer) *cpio { return &cpio{w: w, seen: map[string]bool{}} }

// Type bits of st_mode.
const (
	modeDir  = 0o040000
	modeFile = 0o100000
)

// dir adds a directory and its parents, unless they exist already.
func (c *cpio) dir(name string) {
	if name == "." || name == "/" || c.seen[name] {
		return
	}
	c.dir(path.Dir(name))
	c.entry(name, modeDir|0o755, nil)
}

// file adds a file; if a name occurs twice, the first one wins.
func (c *cpio) file(name string, perm uint32, content []byte) {
	if c.seen[name] {
		return
	}
	c.dir(path.Dir(name))
	c.entry(name, modeFile|perm, content)
}

// copy adds the file src of this machine, following links.
func (c *cpio) copy(name, src string) {
	if c.seen[name] || c.err != nil {
		return
	}
	content, err := os.ReadFile(src)
	if err != nil {
		c.err = err
		return
	}
	perm := uint32(0o644)
	if info, err := os.Stat(src); err == nil {
		perm = uint32(info.Mode().Perm())
	}
	c.file(name, perm, content)
}

func (c *cpio) entry(name string, mode uint32, content []byte) {
	if c.err != nil {
		return
	}
	c.seen[name] = true
	c.ino++
	const links, zero = 1, 0
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.ino, mode, zero, zero, links, zero, len(content), zero, zero, zero, zero, len(name)+1, zero)
	c.write([]byte(header + name + "\x00"))
	c.pad(len(header) + len(name) + 1)
	c.write(content)
	c.pad(len(content))
}

func (c *cpio) pad(n int) { c.write(make([]byte, -n&3)) }

func (c *cpio) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

// close ends the archive and returns the first error.
func (c *cpio) close() error {
	c.entry("TRAILER!!!", 0, nil)
	return c.err
}
