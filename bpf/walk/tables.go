package walk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"ppscript/bpf/load"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/unwind"
	"ppscript/runtime/target/task"
)

// This file writes the tables of files to maps: blocks and rules to arrays, rows to pages, which
// are made as they are needed. Tables stay until the end of the run: programs may be reading
// them at any time, and a file that was mapped once is often mapped again.

// tables are the unwind tables of all files.
type tables struct {
	blocks, rules *ebpf.Memory
	chunks        *ebpf.Map
	files         map[string]*file
	numbers       map[unwind.Rule]uint32
	used          uint32 // blocks
	page          []byte // the page that is being filled
	pages         uint32 // number of pages before it
	chunk         *ebpf.Map
	chunkCount    uint32 // chunks
	ending        atomic.Bool
}

// file says where the blocks of a file are; compact is nil if it has no tables.
type file struct {
	compact    *unwind.Compact // without its rows
	at, blocks uint32
}

// errFull is the error when a bound on tables is reached.
var errFull = errors.New("no room for more tables")

func (t *tables) open(maps map[load.MapKind]*ebpf.Map) (err error) {
	t.chunks, t.files, t.numbers = maps[load.WalkPagesMap], map[string]*file{}, map[unwind.Rule]uint32{}
	if t.blocks, err = maps[load.WalkBlocksMap].Memory(); err != nil {
		return err
	}
	t.rules, err = maps[load.WalkRulesMap].Memory()
	return err
}

// rangesOf converts the regions of a process to ranges for programs. full counts the files and
// regions for which there was no room.
func (t *tables) rangesOf(store *dso.Store, regions []task.Region, full *atomic.Int64) []load.WalkRange {
	var list []load.WalkRange
	for i := range regions {
		r := &regions[i]
		if t.ending.Load() {
			return nil // no program reads them any more
		}
		next := load.WalkRange{Start: r.Start, Len: r.End - r.Start}
		if r.File != nil {
			f := t.file(store, r.File, full)
			if f.compact != nil {
				if addr, ok := f.compact.Addr(r.Off); ok {
					next.Delta = r.Start - (addr - f.compact.Base)
					next.At, next.Blocks = f.at, f.blocks
				}
			}
		}
		if n := len(list); n > 0 && next.Blocks == 0 && list[n-1].Blocks == 0 &&
			list[n-1].Start+list[n-1].Len == next.Start {
			list[n-1].Len += next.Len // most likely code that a compiler made at run time
			continue
		}
		if len(list) == load.MostWalkRangesOfOne {
			full.Add(1)
			break
		}
		list = append(list, next)
	}
	return list
}

// file writes the tables of a file to the maps, once.
func (t *tables) file(store *dso.Store, f *dso.File, full *atomic.Int64) *file {
	key := f.BuildID
	if key == "" {
		key = fmt.Sprintf("%d:%d:%d %s", f.ID.Maj, f.ID.Min, f.ID.Ino, f.Path)
	}
	if known := t.files[key]; known != nil {
		return known
	}
	is := &file{}
	if store.Expired() { // no memory
		full.Add(1)
		return is
	}
	c, err := unwind.Compile(store, f)
	if err == nil && len(c.Blocks) > 0 {
		if err = t.bring(is, c); err == nil {
			c.Rows, c.Blocks, c.Rules = nil, nil, nil
			is.compact = c
		} else {
			full.Add(1)
		}
	} else if errors.Is(err, dso.ErrExpired) || errors.Is(err, dso.ErrNoMemory) {
		full.Add(1)
	}
	if err == nil || f.Opened() { // else another process may allow to open it
		t.files[key] = is
	}
	return is
}

// bring writes the tables of a file to the maps.
func (t *tables) bring(f *file, c *unwind.Compact) error {
	n := uint32(len(c.Blocks))
	if n > load.MostWalkBlocks-t.used {
		return errFull
	}
	numbers := make([]uint32, len(c.Rules))
	for i, r := range c.Rules {
		var err error
		if numbers[i], err = t.number(r); err != nil {
			return err
		}
	}
	words := make([]byte, 0, 8*n)
	for _, b := range c.Blocks {
		word := uint64(0)
		if b.Count > 0 {
			at, err := t.rows(c.Rows[b.First:b.First+b.Count], numbers)
			if err != nil {
				return err
			}
			word = uint64(t.pages) | uint64(at)<<load.WalkFirstShift | uint64(b.Count)<<load.WalkCountShift
		}
		words = binary.LittleEndian.AppendUint64(words, word)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if _, err := t.blocks.WriteAt(words, int64(t.used)*load.WalkBlockSize); err != nil {
		return err
	}
	f.at, f.blocks = t.used, n
	t.used += n
	return nil
}

// number returns the number of a rule, which all files share; a new rule is
// written to its array.
func (t *tables) number(r unwind.Rule) (uint32, error) {
	n, known := t.numbers[r]
	if known {
		return n, nil
	}
	if n = uint32(len(t.numbers)); n >= load.MostWalkRules {
		return 0, errFull
	}
	var b [load.WalkRuleSize]byte
	b[load.WalkRuleKind], b[load.WalkRuleReg] = byte(r.Kind), r.Reg
	b[load.WalkRuleBP], b[load.WalkRuleBX] = byte(r.BP), byte(r.BX)
	for at, v := range map[int]int32{load.WalkRuleOff: r.Off, load.WalkRuleAdd: r.Add,
		load.WalkRuleBPOff: r.BPOff, load.WalkRuleBXOff: r.BXOff} {
		binary.LittleEndian.PutUint32(b[at:], uint32(v))
	}
	if _, err := t.rules.WriteAt(b[:], int64(n)*load.WalkRuleSize); err != nil {
		return 0, err
	}
	t.numbers[r] = n
	return n, nil
}

// rows adds the rows of a block to a page, and returns the index of the first.
func (t *tables) rows(rows []uint32, numbers []uint32) (at int, err error) {
	if len(t.page)/4+len(rows) > load.WalkPageRows {
		if err := t.flush(); err != nil {
			return 0, err
		}
		t.pages++
		t.page = t.page[:0]
	}
	at = len(t.page) / 4
	const place = 1<<unwind.BlockBits - 1
	for _, row := range rows {
		t.page = binary.LittleEndian.AppendUint32(t.page,
			row&place|numbers[row>>unwind.BlockBits]<<unwind.BlockBits)
	}
	return at, nil
}

// flush writes the page that is being filled.
func (t *tables) flush() error {
	if len(t.page) == 0 {
		return nil
	}
	chunk, in := t.pages>>load.WalkChunkBits, t.pages&(1<<load.WalkChunkBits-1)
	if chunk >= load.MostWalkChunks {
		return errFull
	}
	if chunk == t.chunkCount {
		made, err := ebpf.NewMap(load.WalkChunk())
		if err != nil {
			return err
		}
		if err = t.close(); err == nil {
			err = t.chunks.Put(chunk, made)
		}
		if err != nil {
			return errors.Join(err, made.Close())
		}
		t.chunk, t.chunkCount = made, chunk+1
	}
	var page [load.WalkPageSize]byte
	copy(page[:], t.page)
	return t.chunk.Put(in, page[:])
}

// close closes the descriptor of the chunk that is being filled. The kernel
// keeps the chunk.
func (t *tables) close() error {
	if t.chunk == nil {
		return nil
	}
	return t.chunk.Close()
}
