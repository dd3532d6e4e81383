package perfdata

import (
	"bytes"
	"fmt"
	"ppscript/runtime/source/bytecursor"
)

// tracing is the tracing data of a recording: the formats of tracepoints in the
// recorded kernel. It is encoded in trace-cmd's file format, version 0.6.
type tracing struct {
	longSize   int
	pageSize   int
	headerPage string
	formats    []format
	kallsyms   string
	printk     string
	cmdlines   string // "pid comm" per line
}

// A format is the text of one events/SYSTEM/NAME/format file.
type format struct {
	system string
	text   string
}

const tracingMagic = "\x17\x08\x44tracing"

func parseTracing(b []byte) (*tracing, error) {
	c := &bytecursor.Cursor{B: b}
	if m := c.Take(uint64(len(tracingMagic))); string(m) != tracingMagic {
		return nil, fmt.Errorf("tracing data: wrong magic % x", m)
	}
	t := new(tracing)
	version := c.CStr()
	if big := c.U8(); big != 0 {
		return nil, fmt.Errorf("tracing data: big-endian")
	}
	t.longSize = int(c.U8())
	t.pageSize = int(c.U32())
	if c.CStr() != "header_page" && c.Err == nil {
		return nil, fmt.Errorf("tracing data: at byte %d: no header_page", c.At)
	}
	t.headerPage = string(c.Blob())
	if c.CStr() != "header_event" && c.Err == nil {
		return nil, fmt.Errorf("tracing data: at byte %d: no header_event", c.At)
	}
	c.Blob()
	for range c.Count(8) {
		t.formats = append(t.formats, format{"ftrace", string(c.Blob())})
	}
	for range c.Count(5) {
		system := c.CStr()
		if system != text([]byte(system)) {
			return nil, fmt.Errorf("tracing data: at byte %d: got system %q", c.At, system)
		}
		for range c.Count(8) {
			t.formats = append(t.formats, format{system, string(c.Blob())})
		}
	}
	t.kallsyms = string(c.Take(uint64(c.U32())))
	t.printk = string(c.Take(uint64(c.U32())))
	if c.Err != nil {
		return nil, fmt.Errorf("tracing data: %w", c.Err)
	}
	// The saved names of threads exist since version 0.6. In pipes the end is
	// padded.
	if version >= "0.6" && len(c.B) >= 8 {
		t.cmdlines = string(c.Blob())
	}
	return t, nil
}

// appendTracing is the inverse of parseTracing.
func appendTracing(b []byte, t *tracing) []byte {
	blob := func(s string) {
		b = le.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = append(b, tracingMagic...)
	b = append(b, "0.6\x00"...)
	b = append(b, 0, byte(t.longSize))
	b = le.AppendUint32(b, uint32(t.pageSize))
	b = append(b, "header_page\x00"...)
	blob(t.headerPage)
	b = append(b, "header_event\x00"...)
	blob(headerEvent)

	// Systems in order of first appearance; the system ftrace is written
	// separately.
	var systems []string
	of := map[string][]string{}
	for _, f := range t.formats {
		if _, seen := of[f.system]; !seen && f.system != "ftrace" {
			systems = append(systems, f.system)
		}
		of[f.system] = append(of[f.system], f.text)
	}
	list := func(texts []string) {
		b = le.AppendUint32(b, uint32(len(texts)))
		for _, s := range texts {
			blob(s)
		}
	}
	list(of["ftrace"])
	b = le.AppendUint32(b, uint32(len(systems)))
	for _, s := range systems {
		b = append(append(b, s...), 0)
		list(of[s])
	}
	b = le.AppendUint32(b, uint32(len(t.kallsyms)))
	b = append(b, t.kallsyms...)
	b = le.AppendUint32(b, uint32(len(t.printk)))
	b = append(b, t.printk...)
	blob(t.cmdlines)
	return b
}

// formatID returns the number in the "ID:" line of a format, 0 if it has none.
func formatID(text string) uint64 {
	i := bytes.Index([]byte(text), []byte("\nID:"))
	if i < 0 {
		return 0
	}
	var id uint64
	if _, err := fmt.Sscanf(text[i+len("\nID:"):], "%d", &id); err != nil {
		return 0
	}
	return id
}
