package tracedat

import (
	"bytes"
	"compress/zlib"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// This file builds files of version 7 for tests, part by part as trace-cmd.dat.v7(5)
// describes them, with pages of our own.

const testPage = 256

const testFormat = "name: f\nID: 5\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"

// words are numbers of 32 bits.
func words(ns ...uint32) (b []byte) {
	for _, n := range ns {
		b = le.AppendUint32(b, n)
	}
	return b
}

// longs are numbers of 64 bits.
func longs(ns ...uint64) (b []byte) {
	for _, n := range ns {
		b = le.AppendUint64(b, n)
	}
	return b
}

// record is a record with a delta; data has type, pid and then more.
func record(delta uint32, data []byte) []byte {
	if n := len(data); n%4 == 0 && n <= 4*28 {
		return append(words(delta<<5|uint32(n/4)), data...)
	}
	b := append(words(delta<<5, uint32(len(data)+4)), data...)
	return append(b, make([]byte, -len(b)&3)...)
}

// entry makes the begin of a record of event 5 and a thread.
func entry(tid uint32, rest ...byte) []byte { return append(words(5, tid), rest...) }

// pageOf is a page with a time, flags and records.
func pageOf(time uint64, flags uint32, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	b := le.AppendUint64(nil, time)
	b = le.AppendUint64(b, uint64(uint32(len(body))|flags))
	return append(append(b, body...), make([]byte, testPage-16-len(body))...)
}

// A built file: its options, and the pages of its CPUs.
type built struct {
	algorithm string
	options   []byte
	cpus      [][]byte // pages
	name      string   // of the buffer
}

func (f *built) option(id uint16, body []byte) {
	f.options = le.AppendUint16(f.options, id)
	f.options = append(le.AppendUint32(f.options, uint32(len(body))), body...)
}

func (f *built) pack(t testing.TB, b []byte) []byte {
	switch f.algorithm {
	case "zstd":
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		b = z.EncodeAll(b, nil)
	case "zlib":
		var out bytes.Buffer
		z := zlib.NewWriter(&out)
		z.Write(b)
		z.Close()
		b = out.Bytes()
	}
	return b
}

func (f *built) section(t testing.TB, id uint16, body []byte) []byte {
	flags := uint16(0)
	if f.algorithm != "none" && id != sectionOptions {
		flags = flagCompressed
		packed := f.pack(t, body)
		body = append(words(uint32(len(packed)), uint32(len(body))), packed...)
	}
	b := le.AppendUint16(le.AppendUint16(nil, id), flags)
	b = le.AppendUint32(b, 0)
	return append(le.AppendUint64(b, uint64(len(body))), body...)
}

func (f *built) bytes(t testing.TB) []byte {
	b := append([]byte(magic), "7\x00\x00\x08"...)
	b = le.AppendUint32(b, testPage)
	b = append(append(append(b, f.algorithm...), 0), "1\x00"...)
	options := len(b)
	b = le.AppendUint64(b, 0)
	put := func(id uint16, body []byte) {
		f.option(id, le.AppendUint64(nil, uint64(len(b))))
		b = append(b, f.section(t, id, body)...)
	}
	blob := func(s string) []byte { return append(le.AppendUint64(nil, uint64(len(s))), s...) }
	put(sectionHeader, bytes.Join([][]byte{
		[]byte("header_page\x00"),
		blob("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
			"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
			"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:240;\tsigned:0;\n"),
		[]byte("header_event\x00"), blob(""),
	}, nil))
	put(sectionFormats, bytes.Join([][]byte{words(1), []byte("s\x00"), words(1), blob(testFormat)}, nil))
	put(sectionCmdlines, blob("7 seven\n"))

	// The buffer: its section has a head and then the CPUs.
	at := len(b)
	head := le.AppendUint16(nil, 3)
	head = le.AppendUint16(head, 0)
	if f.algorithm != "none" {
		le.PutUint16(head[2:], flagCompressed)
	}
	b = append(append(b, head...), make([]byte, 12)...)
	body := le.AppendUint64(nil, uint64(at))
	body = append(append(append(body, f.name...), 0), "mono\x00"...)
	body = append(body, words(testPage, uint32(len(f.cpus)))...)
	for cpu, pages := range f.cpus {
		if f.algorithm != "none" {
			out := words(uint32((len(pages) + testPage - 1) / testPage))
			for rest := pages; len(rest) > 0; {
				n := min(len(rest), testPage)
				packed := f.pack(t, rest[:n])
				out = append(append(out, words(uint32(len(packed)), uint32(n))...), packed...)
				rest = rest[n:]
			}
			pages = out
		}
		size := uint64(len(pages))
		if f.algorithm != "none" {
			size -= 4 // trace-cmd leaves the number of chunks out
		}
		body = append(body, words(uint32(cpu))...)
		body = le.AppendUint64(le.AppendUint64(body, uint64(len(b))), size)
		b = append(b, pages...)
	}
	f.option(optionBuffer, body)
	f.option(optionDone, make([]byte, 8))
	le.PutUint64(b[options:], uint64(len(b)))
	return append(b, f.section(t, sectionOptions, f.options)...)
}
