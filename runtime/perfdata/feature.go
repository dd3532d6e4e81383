package perfdata

import (
	"bytes"
	"encoding/binary"
	"time"

	"ppscript/runtime/event"
)

// feature parses one header feature, from the file's tail or from a
// HEADER_FEATURE record; both have the same content. Features that tell
// nothing that we use are skipped.
func (h *head) feature(id int, b []byte) error {
	c := &cursor{b: b}
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
		in.Hostname = c.str()
	case featOSRelease:
		in.OSRelease = c.str()
	case featVersion:
		in.Version = c.str()
	case featArch:
		in.Arch = c.str()
	case featCPUDesc:
		in.CPUDesc = c.str()
	case featCPUID:
		in.CPUID = c.str()
	case featNrCPUs:
		in.CPUsAvail, in.CPUsOnline = int(c.u32()), int(c.u32())
	case featTotalMem:
		in.TotalMemKB = c.u64()
	case featCmdline:
		n := c.count(4)
		var args []string
		for range n {
			args = append(args, c.str())
		}
		in.Cmdline = args
	case featSampleTime:
		in.FirstSample, in.LastSample = event.Time(c.u64()), event.Time(c.u64())
	case featClockID:
		in.Clock.Resolution = time.Duration(c.u64())
	case featClockData:
		c.u32() // version
		in.Clock.ID = int32(c.u32())
		wall, at := c.u64(), c.u64()
		if c.err == nil {
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
	return c.err
}

// eventDesc reads the names and ids of all events. It repeats each attr.
func (h *head) eventDesc(c *cursor) error {
	n := c.count(minAttrSize)
	size := uint64(c.u32())
	for range n {
		c.take(size)
		nids := c.u32()
		name := c.str()
		ids := c.take(8 * uint64(nids))
		if c.err != nil {
			return c.err
		}
		d := desc{name: name}
		for ; len(ids) >= 8; ids = ids[8:] {
			d.ids = append(d.ids, binary.LittleEndian.Uint64(ids))
		}
		h.descs = append(h.descs, d)
	}
	return c.err
}

// buildIDs reads a table of BUILD_ID records.
func (h *head) buildIDs(b []byte) error {
	c := &cursor{b: b}
	for len(c.b) > 0 && c.err == nil {
		c.u32() // type: 0 or 67, depending on perf's age
		misc := uint16(c.u8()) | uint16(c.u8())<<8
		size := uint64(c.u8()) | uint64(c.u8())<<8
		if c.err == nil && size < recHeaderSize {
			break
		}
		h.buildID(misc, c.take(size-recHeaderSize))
	}
	return c.err
}

// buildID takes the body of a BUILD_ID record.
func (h *head) buildID(misc uint16, body []byte) {
	const (
		idSize      = 20      // BUILD_ID_SIZE
		miscSized   = 1 << 15 // PERF_RECORD_MISC_BUILD_ID_SIZE
		miscCPUMode = 7
		miscKernel  = 1
	)
	c := &cursor{b: body}
	pid := int32(c.u32())
	id := c.take(24)
	if c.err != nil {
		return
	}
	n := idSize
	if misc&miscSized != 0 {
		n = min(int(id[20]), idSize)
	}
	h.info.BuildIDs = append(h.info.BuildIDs, BuildID{
		PID:    pid,
		ID:     append([]byte(nil), id[:n]...),
		Path:   text(c.b),
		Kernel: misc&miscCPUMode == miscKernel,
	})
}
