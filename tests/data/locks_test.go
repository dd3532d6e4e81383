package data

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/source/perfdata"
)

// makeLocks writes locks.data: samples of split locks as an AMD CPU's counter
// makes them, 40 of user code at three places and 10 of the kernel at one.
func makeLocks(path string) error {
	w, err := perfdata.Create(path, perfdata.WriteOptions{Version: "ppscript", Info: &perfdata.Info{
		Hostname: "written", OSRelease: "0", Arch: "x86_64", Version: "ppscript",
		CPUsOnline: 2, CPUsAvail: 2, PageSize: 4096,
		Cmdline: []string{"perf", "record"}}})
	if err != nil {
		return err
	}
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_RAW, Config: 0x125, Sample: 100,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID |
			unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD,
		Bits: unix.PerfBitSampleIDAll,
	}
	attr.Size = uint32(binary.Size(attr))
	if err := w.Add(perfdata.StreamInfo{
		Attr: attr, IDs: []uint64{1}, Name: "cpu/event=0x25,umask=0x1/",
	}); err != nil {
		return err
	}
	le := binary.LittleEndian
	for i := range uint64(50) {
		ip, mode := 0x401000+i%3*16, uint16(unix.PERF_RECORD_MISC_USER)
		if i%5 == 4 {
			ip, mode = 0xffffffff81234560, unix.PERF_RECORD_MISC_KERNEL
		}
		b := le.AppendUint32(nil, unix.PERF_RECORD_SAMPLE)
		b = le.AppendUint16(le.AppendUint16(b, mode), 56)
		b = le.AppendUint64(le.AppendUint64(b, 1), ip)
		b = le.AppendUint32(le.AppendUint32(b, 100), 100+uint32(i%2))
		b = le.AppendUint64(b, 1_000_000_000+i*1_000_000)
		b = le.AppendUint32(le.AppendUint32(b, uint32(i%2)), 0)
		b = le.AppendUint64(b, 100)
		if err := w.Write(b); err != nil {
			return err
		}
	}
	if err := w.FinishedRound(); err != nil {
		return err
	}
	return w.Finish()
}

// locks.data must equal the output of makeLocks.
func TestLocksAreAsWritten(t *testing.T) { asWritten(t, "locks.data", makeLocks) }

// asWritten compares a file with the output of make; with -update it writes the
// file anew.
func asWritten(t *testing.T, name string, make func(path string) error) {
	t.Helper()
	if *update {
		if err := make(name); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), name)
	if err := make(file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the test writes: go test -run %s -update", name, t.Name())
	}
}
