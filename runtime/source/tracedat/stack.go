package tracedat

import (
	"strconv"
	"strings"
)

// This file attaches kernel stacks to records. The kernel writes a stack (trace-cmd
// record -T, or a stacktrace trigger) as a separate record directly after the
// record to which it belongs, with the same thread. If an interrupt writes records
// between the two, the stack is not attached and stays a separate record.

// A stackKind describes the records that are stacks.
type stackKind struct {
	id     uint16 // the ID of their event; 0 if there are none
	offset int
}

// stackKind finds the format of kernel stacks.
func (f *File) stackKind() (k stackKind) {
	for _, x := range f.Formats {
		if x.System != "ftrace" || f.LongSize != 8 || lineAfter(x.Text, "name:") != "kernel_stack" {
			continue
		}
		id, err := strconv.ParseUint(lineAfter(x.Text, "ID:"), 10, 16)
		_, caller, found := strings.Cut(x.Text, " caller[")
		_, offset, _ := strings.Cut(caller, "offset:")
		offset, _, _ = strings.Cut(offset, ";")
		at, errAt := strconv.ParseUint(offset, 10, 8)
		if found && err == nil && errAt == nil && at >= recordHead {
			return stackKind{uint16(id), int(at)}
		}
	}
	return stackKind{}
}

// lineAfter returns the rest of the first line that contains word.
func lineAfter(text, word string) string {
	_, rest, _ := strings.Cut(text, word)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// HasStacks reports that the first records include kernel stacks.
func (f *File) HasStacks() bool {
	kind := f.stackKind()
	r := f.Reader()
	defer r.Close()
	const looked = 1000
	for rec, n := (Record{}), 0; kind.id != 0 && n < looked && r.Next(&rec); n++ {
		if rec.Missed == 0 && rec.ID() == kind.id {
			return true
		}
	}
	return false
}

// WithStacks makes Next attach stacks to their records. It is called before the
// first Next.
func (r *Reader) WithStacks() {
	r.stacks = r.file.stackKind()
	for _, p := range r.heads {
		p.lookAhead()
	}
}

// lookAhead reads the record after the head, and attaches it if it is the
// head's stack.
func (p *pages) lookAhead() {
	if p.head.Missed > 0 {
		return
	}
	if p.compressed {
		// The next chunk overwrites this one.
		p.copied = append(p.copied[:0], p.head.Data...)
		p.head.Data = p.copied
	}
	if !p.read(&p.ahead) {
		return
	}
	next := &p.ahead
	kind := p.reader.stacks
	if next.Missed == 0 && next.ID() == kind.id && next.TID() == p.head.TID() && p.head.ID() != kind.id &&
		len(next.Data) >= kind.offset {
		p.head.Stack = addresses(next.Data[kind.offset:])
		return
	}
	p.waits = true
}

// addresses returns the addresses of a stack, up to the end mark: an address with all bits
// set, or 0.
func addresses(b []byte) []byte {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if at := le.Uint64(b[n:]); at == 0 || at == ^uint64(0) {
			break
		}
	}
	return b[:n:n]
}
