package perfdata

import (
	"bytes"
	"encoding/binary"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/bytecursor"
)

// feature parses one feature, from the end of the file or from a HEADER_FEATURE
// record; both have the same content. Unused features are skipped.
func (h *head) feature(id int, b []byte) error {
	c := &bytecursor.Cursor{B: b}
	in := &h.info
	switch id {
	case featTracingData:
		t, err := parseTracing(b)
		if err != nil {
			return err
		}
		h.tracing = t
		in.PageSize, in.Printk, in.Kallsyms = t.pageSize, t.printk, t.kallsyms
	case featBuildID:
		return h.buildIDs(b)
	case featHostname:
		in.Hostname = takeString(c)
	case featOSRelease:
		in.OSRelease = takeString(c)
	case featVersion:
		in.Version = takeString(c)
	case featArch:
		in.Arch = takeString(c)
	case featCPUDesc:
		in.CPUDesc = takeString(c)
	case featCPUID:
		in.CPUID = takeString(c)
	case featNrCPUs:
		in.CPUsAvail, in.CPUsOnline = int(c.U32()), int(c.U32())
	case featTotalMem:
		in.TotalMemKB = c.U64()
	case featCmdline:
		n := c.Count(4)
		var args []string
		for range n {
			args = append(args, takeString(c))
		}
		in.Cmdline = args
	case featSampleTime:
		in.FirstSample, in.LastSample = event.Time(c.U64()), event.Time(c.U64())
	case featClockID:
		in.Clock.Resolution = time.Duration(c.U64())
	case featClockData:
		c.U32() // version
		in.Clock.ID = int32(c.U32())
		wall, at := c.U64(), c.U64()
		if c.Err == nil {
			in.Clock.Wall, in.Clock.At = time.Unix(0, int64(wall)), event.Time(at)
		}
	case featCompressed:
		in.Compressed = true
	case featCPUTopology, featNUMATopology, featPMUMappings:
		if in.Machine == nil {
			in.Machine = map[int][]byte{}
		}
		in.Machine[id] = bytes.Clone(b)
	case featEventDesc:
		return h.eventDesc(c)
	}
	return c.Err
}

// eventDesc reads the names and ids of all events. Each entry repeats the attr,
// which is skipped.
func (h *head) eventDesc(c *bytecursor.Cursor) error {
	n := c.Count(minAttrSize)
	size := uint64(c.U32())
	for range n {
		c.Take(size)
		nids := c.U32()
		name := takeString(c)
		ids := c.Take(8 * uint64(nids))
		if c.Err != nil {
			return c.Err
		}
		d := desc{name: name}
		for ; len(ids) >= 8; ids = ids[8:] {
			d.ids = append(d.ids, binary.LittleEndian.Uint64(ids))
		}
		h.descs = append(h.descs, d)
	}
	return c.Err
}

// buildIDs reads a table of BUILD_ID records.
func (h *head) buildIDs(b []byte) error {
	c := &bytecursor.Cursor{B: b}
	for len(c.B) > 0 && c.Err == nil {
		c.U32() // type: 0 or 67, depending on perf's version
		misc := uint16(c.U8()) | uint16(c.U8())<<8
		size := uint64(c.U8()) | uint64(c.U8())<<8
		if c.Err == nil && size < recHeaderSize {
			break
		}
		h.buildID(misc, c.Take(size-recHeaderSize))
	}
	return c.Err
}

// buildID reads the body of a BUILD_ID record.
func (h *head) buildID(misc uint16, body []byte) {
	const (
		idSize      = 20      // BUILD_ID_SIZE
		miscSized   = 1 << 15 // PERF_RECORD_MISC_BUILD_ID_SIZE
		miscCPUMode = 7
		miscKernel  = 1
	)
	c := &bytecursor.Cursor{B: body}
	pid := int32(c.U32())
	id := c.Take(24)
	if c.Err != nil {
		return
	}
	n := idSize
	if misc&miscSized != 0 {
		n = min(int(id[20]), idSize)
	}
	h.info.BuildIDs = append(h.info.BuildIDs, BuildID{
		PID:    pid,
		ID:     append([]byte(nil), id[:n]...),
		Path:   text(c.B),
		Kernel: misc&miscCPUMode == miscKernel,
	})
}
