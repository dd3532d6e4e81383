package tracedat

import (
	"strconv"
	"strings"
)

// This file gives records their kernel stacks. The kernel writes a stack (trace-cmd
// record -T, or a stacktrace trigger) as a record of its own right behind the one
// that it is of, with the same thread. An interrupt between the two has records of
// its own there; then the stack stays a record, as all do that are of nothing.

// A stackKind is which records are stacks, and where they have their addresses.
type stackKind struct {
	id     uint16 // 0: none is
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

// lineAfter is the rest of the first line that has a word.
func lineAfter(text, word string) string {
	_, rest, _ := strings.Cut(text, word)
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// HasStacks reports that there are kernel stacks among the first records.
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

// WithStacks has the records come with their stacks. It is called before Next.
func (r *Reader) WithStacks() {
	r.stacks = r.file.stackKind()
	for _, p := range r.heads {
		p.lookAhead()
	}
}

// lookAhead takes the record behind the head, which may be its stack.
func (p *pages) lookAhead() {
	if p.head.Missed > 0 {
		return
	}
	if p.compressed {
		// The next chunk takes the place of this one.
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

// addresses returns the addresses of a stack, up to its end: where all bits are set, or none.
func addresses(b []byte) []byte {
	n := 0
	for ; n+8 <= len(b); n += 8 {
		if at := le.Uint64(b[n:]); at == 0 || at == ^uint64(0) {
			break
		}
	}
	return b[:n:n]
}
