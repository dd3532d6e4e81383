package symbol

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// This file follows kernel code that is loaded and removed while events are
// recorded: BPF programs and trampolines, which kallsyms lists only while they
// exist.

// kernelPiece is a piece of kernel code, and the time during which it was
// loaded.
type kernelPiece struct {
	addr, end   uint64
	from, until event.Time
	name, dso   string
}

// maxLoaded bounds the pieces; beyond it the oldest are dropped.
const maxLoaded = 1 << 16

// Record applies a KSYMBOL record and ignores others.
func (s *Symbolizer) Record(e *event.Event) {
	k, ok := perf.DecodeKsymbol(e)
	if !ok || k.Addr < kernelHalf || k.Len == 0 || k.Name == "" || k.Addr+uint64(k.Len) < k.Addr {
		return
	}
	if k.Unregister {
		for i := len(s.loaded) - 1; i >= 0; i-- {
			if p := &s.loaded[i]; p.addr == k.Addr && p.until == event.MaxTime {
				p.until = e.Time
				return
			}
		}
		return
	}
	if len(s.loaded) >= maxLoaded {
		s.loaded = slices.Delete(s.loaded, 0, maxLoaded/4)
	}
	dso := KernelDSO
	if k.Type == 1 { // PERF_RECORD_KSYMBOL_TYPE_BPF, with the module name of kallsyms
		dso = "[bpf]"
	}
	s.loaded = append(s.loaded, kernelPiece{k.Addr, k.Addr + uint64(k.Len), e.Time, event.MaxTime, k.Name,
		dso})
	clear(s.kernel)
}

// loadedAt finds the piece that contained addr at a time.
func (s *Symbolizer) loadedAt(addr uint64, when event.Time) *kernelPiece {
	for i := len(s.loaded) - 1; i >= 0; i-- {
		if p := &s.loaded[i]; addr >= p.addr && addr < p.end && when >= p.from && when < p.until {
			return p
		}
	}
	return nil
}
