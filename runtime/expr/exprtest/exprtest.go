// Package exprtest has an event with a field of every kind, and a scope that names
// them, for tests of expressions in both languages.
package exprtest

import (
	"encoding/binary"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Schema has a field of every kind.
func Schema() *event.Schema {
	s := &event.Schema{System: "test", Name: "all", Fields: []event.Field{
		{Name: "common_type", Type: "unsigned short", Size: 2},
		{Name: "common_pid", Type: "int", Offset: 4, Size: 4, Signed: true},
		{Name: "i8", Type: "s8", Offset: 8, Size: 1, Signed: true},
		{Name: "n8", Type: "u8", Offset: 9, Size: 1},
		{Name: "i16", Type: "short", Offset: 10, Size: 2, Signed: true},
		{Name: "n16", Type: "unsigned short", Offset: 12, Size: 2},
		{Name: "flag", Type: "bool", Offset: 14, Size: 1},
		{Name: "i32", Type: "int", Offset: 16, Size: 4, Signed: true},
		{Name: "n32", Type: "unsigned int", Offset: 20, Size: 4},
		{Name: "i64", Type: "long", Offset: 24, Size: 8, Signed: true},
		{Name: "n64", Type: "unsigned long", Offset: 32, Size: 8},
		{Name: "comm", Type: "char[16]", Kind: event.Str, Offset: 40, Size: 16, Elem: 1},
		{Name: "full", Type: "char[4]", Kind: event.Str, Offset: 56, Size: 4, Elem: 1},
		{Name: "filename", Type: "__data_loc char[]", Kind: event.Str, Place: event.DataLoc,
			Offset: 60, Size: 4, Elem: 1},
		{Name: "rel", Type: "__rel_loc char[]", Kind: event.Str, Place: event.RelLoc,
			Offset: 64, Size: 4, Elem: 1},
		{Name: "longs", Type: "__data_loc u64[]", Kind: event.Array, Place: event.DataLoc,
			Offset: 68, Size: 4, Elem: 8},
		{Name: "ints", Type: "u32[2]", Kind: event.Array, Offset: 72, Size: 8, Elem: 4},
		{Name: "mask", Type: "__data_loc cpumask_t", Kind: event.Bitmask, Place: event.DataLoc,
			Offset: 80, Size: 4, Elem: 8},
		{Name: "ptr", Type: "void *", Offset: 88, Size: 8},
	}, Size: 96}
	return s
}

// Event returns an event of Schema with fixed values.
func Event() *event.Event {
	raw := make([]byte, 96)
	le := binary.LittleEndian
	le.PutUint16(raw[0:], 77)
	le.PutUint32(raw[4:], 1234)
	raw[8], raw[9] = 0xff, 0xff
	le.PutUint16(raw[10:], 0xfffe)
	le.PutUint16(raw[12:], 0xfffe)
	raw[14] = 1
	le.PutUint32(raw[16:], 0xfffffffd)
	le.PutUint32(raw[20:], 0xfffffffd)
	le.PutUint64(raw[24:], 1<<64-4)
	le.PutUint64(raw[32:], 1<<64-4)
	copy(raw[40:], "bash\x00junk")
	copy(raw[56:], "full")
	tail := func(at int, base int, b []byte) {
		le.PutUint32(raw[at:], uint32(len(raw)-base)|uint32(len(b))<<16)
		raw = append(raw, b...)
	}
	tail(60, 0, []byte("/etc/passwd\x00"))
	tail(64, 68, []byte("relative\x00"))
	tail(68, 0, le.AppendUint64(le.AppendUint64(nil, 7), 1<<40))
	le.PutUint32(raw[72:], 10)
	le.PutUint32(raw[76:], 20)
	tail(80, 0, []byte{0x8f, 0, 0, 0, 1, 0, 0, 0})
	le.PutUint64(raw[88:], 0xffffffff81000000)
	stream := &event.Stream{Comm: func(*event.Event) string { return "thread" }}
	return &event.Event{Time: 99, PID: 100, TID: 101, CPU: 3, Raw: raw, Stream: stream}
}

// Scope returns a scope with the fields of Schema and a few services.
func Scope() *expr.Scope {
	return &expr.Scope{Schema: Schema(), Services: expr.Services{
		Ksym:        func(a uint64) string { return map[uint64]string{0xffffffff81000000: "_text"}[a] },
		KsymOffset:  func(a uint64) string { return map[uint64]string{0xffffffff81000000: "_text+0x0"}[a] },
		Comm:        func(tid int32) string { return map[int32]string{1234: "init"}[tid] },
		SyscallName: func(nr int64) string { return map[int64]string{0: "read"}[nr] },
		ExitReason: func(isa, code int64) string {
			return map[[2]int64]string{{1, 12}: "HLT"}[[2]int64{isa, code}]
		},
		System: func(cmd string) int { return len(cmd) << 8 },
	}, Consts: map[string]int64{"TEN": 10}}
}

// SetField sets a numeric field of the record.
func SetField(e *event.Event, name string, v int64) {
	f, _ := Schema().Field(name)
	for i := 0; i < f.Size; i++ {
		e.Raw[f.Offset+i] = byte(v >> (8 * i))
	}
}

// Integers are the fields that EventOf sets.
var Integers = []string{"i8", "n8", "i16", "n16", "flag", "i32", "n32", "i64", "n64", "common_pid"}

// Edges are the values of Integers in a few events.
var Edges = [][]int64{
	{0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{-1, 255, -1, 65535, 1, -1, 4294967295, -1, -1, 1},
	{-128, 128, -32768, 32768, 1, -2147483648, 2147483648, -9223372036854775808, -9223372036854775808,
		2147483647},
	{100, 200, 1000, 50000, 0, 123456789, 3123456789, 1234567890123, 1234567890123456789, 4711},
}

// EventOf returns the event with the values of Edges[i].
func EventOf(i int) *event.Event {
	e := Event()
	for k, name := range Integers {
		SetField(e, name, Edges[i][k])
	}
	return e
}
