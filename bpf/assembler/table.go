package assembler

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file has constant tables, in which programs look numbers up. An instruction that refers to a
// table carries the content in its metadata, so that the loader finds the maps that programs need.
// Tables with the same content are one map.

// table is a constant table.
type table struct {
	id      load.MapID
	content string
}

// NewTable makes a table.
func NewTable(content []byte) table {
	sum := sha256.Sum256(content)
	half := func(at int) int { return int(binary.LittleEndian.Uint64(sum[at:]) >> 1) }
	return table{load.TableMap.Of(half(0), half(8)), string(content)}
}

// tableKey is the key of the table among the metadata of an instruction.
type tableKey struct{}

// Table loads the address of a table into dst.
func (c *Code) Table(dst asm.Register, t table) {
	ins := asm.LoadMapValue(dst, 0, 0).WithReference(t.id.String())
	ins.Metadata.Set(tableKey{}, t)
	c.Emit(ins)
}

// Tables returns the maps of the tables to which programs refer.
func Tables(programs ...asm.Instructions) map[load.MapID]*ebpf.MapSpec {
	tables := map[load.MapID]*ebpf.MapSpec{}
	for _, ins := range programs {
		for i := range ins {
			t, ok := ins[i].Metadata.Get(tableKey{}).(table)
			if !ok || tables[t.id] != nil {
				continue
			}
			tables[t.id] = &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(len(t.content)),
				MaxEntries: 1, Contents: []ebpf.MapKV{{Key: uint32(0), Value: []byte(t.content)}}}
		}
	}
	return tables
}
