package perf

import (
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

var sideFormat = Format{SampleType: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_TID |
	unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU, SampleIDAll: true}

// sideID is the SampleID of sideFormat, from thread 8 of 7.
func (r *recordBuilder) sideID() []byte { return r.u64(7|8<<32, 500, 1, valID).record() }

// sideRecords have one record of each type with the value that it must decode to.
var sideRecords = []struct {
	name string
	rec  []byte
	kind event.RecordKind
	tid  int32 // of the event
	want any   // of its accessor; nil if the kind says it all
}{
	{"lost", newRecord(unix.PERF_RECORD_LOST, 0).u64(101, 42).sideID(), event.Lost, 8, lost{101, 42}},
	{"lost samples", newRecord(unix.PERF_RECORD_LOST_SAMPLES, 0).u64(43).sideID(), event.Lost, 8, lost{0, 43}},
	{"comm", newRecord(unix.PERF_RECORD_COMM, 0).u32(20).u32(21).text("worker").sideID(), event.Comm, 21,
		Comm{20, 21, "worker", false}},
	{"exec", newRecord(unix.PERF_RECORD_COMM, unix.PERF_RECORD_MISC_COMM_EXEC).u32(20).u32(20).text("make").sideID(),
		event.Comm, 20, Comm{20, 20, "make", true}},
	{"fork", newRecord(unix.PERF_RECORD_FORK, 0).u32(30).u32(7).u32(31).u32(8).u64(499).sideID(), event.Fork, 31,
		Task{30, 31, 7, 8, 499}},
	{"exit", newRecord(unix.PERF_RECORD_EXIT, 0).u32(30).u32(7).u32(31).u32(8).u64(499).sideID(), event.Exit, 31,
		Task{30, 31, 7, 8, 499}},
	{"mmap", newRecord(unix.PERF_RECORD_MMAP, unix.PERF_RECORD_MISC_USER).u32(20).u32(21).u64(0x400000, 0x1000, 0x2000).
		text("/bin/true").sideID(), event.Mmap, 21,
		Mapping{PID: 20, TID: 21, Addr: 0x400000, Len: 0x1000, Pgoff: 0x2000, Name: "/bin/true"}},
	{"mmap2", newRecord(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_USER).u32(20).u32(21).u64(0x400000, 0x1000, 0x2000).
		u32(8).u32(1).u64(99, 3).u32(unix.PROT_EXEC).u32(unix.MAP_PRIVATE).text("/bin/true").
		sideID(), event.Mmap, 21,
		Mapping{
			PID:    20,
			TID:    21,
			Addr:   0x400000,
			Len:    0x1000,
			Pgoff:  0x2000,
			Maj:    8,
			Min:    1,
			Ino:    99,
			InoGen: 3,
			Prot:   unix.PROT_EXEC,
			Flags:  unix.MAP_PRIVATE,
			Name:   "/bin/true",
		}},
	{"mmap2 with build id", newRecord(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_MMAP_BUILD_ID).u32(20).u32(20).
		u64(0x400000, 0x1000, 0).u32(4).bytes([]byte("abcd................")).u32(unix.PROT_READ).u32(0).
		text("x").sideID(),
		event.Mmap, 20,
		Mapping{
			PID:     20,
			TID:     20,
			Addr:    0x400000,
			Len:     0x1000,
			Prot:    unix.PROT_READ,
			BuildID: []byte("abcd"),
			Name:    "x",
			Data:    true,
		}},
	{"throttle", newRecord(unix.PERF_RECORD_THROTTLE, 0).u64(498, 101, 102).sideID(), event.Throttle, 8, nil},
	{"unthrottle", newRecord(unix.PERF_RECORD_UNTHROTTLE, 0).u64(498, 101, 102).sideID(), event.Unthrottle, 8, nil},
	{"switch in", newRecord(unix.PERF_RECORD_SWITCH, 0).sideID(), event.Switch, 8, nil},
	{"switch out", newRecord(unix.PERF_RECORD_SWITCH_CPU_WIDE, unix.PERF_RECORD_MISC_SWITCH_OUT|unix.PERF_RECORD_MISC_SWITCH_OUT_PREEMPT).
		u32(50).u32(51).sideID(), event.Switch, 8, nil},
	{"namespaces", newRecord(unix.PERF_RECORD_NAMESPACES, 0).u32(20).u32(21).u64(2, 4, 5, 6, 7).sideID(), event.Other, 8, nil},
	{"cgroup", newRecord(unix.PERF_RECORD_CGROUP, 0).u64(77).text("/a/b").sideID(), event.Other, 8, Cgroup{77, "/a/b"}},
	{"ksymbol", newRecord(unix.PERF_RECORD_KSYMBOL, 0).u64(0xffff0000).u32(64).u16(1).u16(1).text("bpf_prog").sideID(), event.Other, 8,
		Ksymbol{0xffff0000, 64, 1, true, "bpf_prog"}},
	{"bpf", newRecord(unix.PERF_RECORD_BPF_EVENT, 0).u16(1).u16(0).u32(9).bytes([]byte("tagtagta")).sideID(), event.Other, 8,
		BPFEvent{1, 0, 9, [8]byte([]byte("tagtagta"))}},
	{"ksymbol of a second ring", newRecord(unix.PERF_RECORD_KSYMBOL, 0).u64(0xffff0000).u32(64).u16(1).u16(1).text("bpf_prog").u64(7|8<<32, 500, 1, valID).u64(1<<60, 1<<60, 1<<60).record(),
		event.Other, 8, Ksymbol{0xffff0000, 64, 1, true, "bpf_prog"}},
	{"bpf of a second ring", newRecord(unix.PERF_RECORD_BPF_EVENT, 0).u16(1).u16(0).u32(9).bytes([]byte("tagtagta")).u64(7|8<<32, 500, 1, valID).u64(1<<60, 1<<60, 1<<60).record(),
		event.Other, 8, BPFEvent{1, 0, 9, [8]byte([]byte("tagtagta"))}},
	{"text poke", newRecord(unix.PERF_RECORD_TEXT_POKE, 0).u64(0xffff1000).u16(2).u16(5).bytes([]byte("ab12345\x00")).u32(0).sideID(), event.Other, 8,
		TextPoke{0xffff1000, []byte("ab"), []byte("12345")}},
}

// decodeAll returns the value that the one fitting accessor decodes from e.
func decodeAll(e *event.Event) (got []any) {
	add := func(v any, ok bool) {
		if ok {
			got = append(got, v)
		}
	}
	add2 := func(v, ok any) { add(v, ok.(bool)) }
	v1, ok := DecodeComm(e)
	add2(v1, ok)
	v2, ok := DecodeFork(e)
	add2(v2, ok)
	v3, ok := DecodeExit(e)
	add2(v3, ok)
	v4, ok := DecodeMmap(e)
	add2(v4, ok)
	v5, ok := decodeLost(e)
	add2(v5, ok)
	v6, ok := DecodeCgroup(e)
	add2(v6, ok)
	v7, ok := DecodeKsymbol(e)
	add2(v7, ok)
	v8, ok := DecodeBPF(e)
	add2(v8, ok)
	v12, ok := DecodeTextPoke(e)
	add2(v12, ok)
	return got
}

func TestSideRecords(t *testing.T) {
	l := NewLayout(sideFormat)
	for _, c := range sideRecords {
		var e event.Event
		d := NewDecoder(l)
		if !d.Decode(c.rec, &e) {
			t.Errorf("%s: refused", c.name)
			continue
		}
		if e.Kind != c.kind || e.TID != c.tid || e.Time != 500 || e.CPU != 1 || e.Stream != nil {
			t.Errorf("%s: got kind %d tid %d time %d cpu %d, want kind %d tid %d time 500 cpu 1",
				c.name, e.Kind, e.TID, e.Time, e.CPU, c.kind, c.tid)
		}
		var want []any
		if c.want != nil {
			want = []any{c.want}
		}
		if got := decodeAll(&e); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
}

func TestSideRecordsWithoutSampleID(t *testing.T) {
	l := NewLayout(Format{SampleType: sideFormat.SampleType})
	var e event.Event
	rec := newRecord(unix.PERF_RECORD_FORK, 0).u32(30).u32(7).u32(31).u32(8).u64(499).record()
	if !l.record(rec, &e) || e.Time != 499 || e.PID != 30 || e.TID != 31 || e.CPU != -1 {
		t.Errorf("got %+v", e)
	}
}
