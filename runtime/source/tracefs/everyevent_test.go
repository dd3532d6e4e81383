package tracefs

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
)

// kernelFunctions are the events whose print fmt calls functions, or reads
// members of structures, that exist only in the kernel. They print as
// name=value. The list includes events of other kernels.
var kernelFunctions = map[string]bool{
	// A union's bit fields, printed by trace_seq_printf.
	"kvmmmu:kvm_mmu_get_page":         true,
	"kvmmmu:kvm_mmu_prepare_zap_page": true,
	"kvmmmu:kvm_mmu_sync_page":        true,
	"kvmmmu:kvm_mmu_unsync_page":      true,
	// Decoders of commands and names: decode_prq_descriptor,
	// nvme_trace_parse_*_cmd, xen_hypercall_name, scsi_trace_parse_cdb.
	"intel_iommu:prq_report":         true,
	"nvme:nvme_setup_cmd":            true,
	"xen:xen_mc_entry":               true,
	"xen:xen_mc_extend_args":         true,
	"scsi:scsi_dispatch_cmd_start":   true,
	"scsi:scsi_dispatch_cmd_error":   true,
	"scsi:scsi_dispatch_cmd_done":    true,
	"scsi:scsi_dispatch_cmd_timeout": true,
}

// kernelVariables are the events that print a variable of the kernel, which
// is "?", by the word that has it.
var kernelVariables = map[string]string{
	// page = vmemmap_base + pfn
	"kmem:mm_page_alloc":                        "page=",
	"kmem:mm_page_alloc_extfrag":                "page=",
	"kmem:mm_page_alloc_zone_locked":            "page=",
	"kmem:mm_page_free":                         "page=",
	"kmem:mm_page_free_batched":                 "page=",
	"kmem:mm_page_pcpu_drain":                   "page=",
	"vmscan:mm_vmscan_write_folio":              "page=",
	"vmscan:mm_vmscan_writepage":                "page=",
	"filemap:mm_filemap_add_to_page_cache":      "page=",
	"filemap:mm_filemap_delete_from_page_cache": "page=",
	// age = jiffies at the time of printing - dirtied_when
	"writeback:writeback_sb_inodes_requeue":  "age=",
	"writeback:writeback_single_inode":       "age=",
	"writeback:writeback_single_inode_start": "age=",
}

// hidesVariable reports that an event does print a variable of the kernel on
// this kernel: later ones print some of them no more.
func hidesVariable(s *event.Schema) bool {
	return kernelVariables[s.FullName()] != "" &&
		(strings.Contains(s.PrintFmt, "vmemmap_base") || strings.Contains(s.PrintFmt, "jiffies"))
}

func TestLiveEveryPrintFmtCompiles(t *testing.T) {
	f := live(t)
	names, err := f.Events()
	if err != nil {
		t.Fatal(err)
	}
	present := map[string]bool{}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, name := range names {
		present[name] = true
		s, err := f.Schema(split(t, name))
		if err != nil {
			t.Fatal(err)
		}
		p := newPrinter(s, f.Options)
		if (p.reason != nil) != kernelFunctions[name] {
			t.Errorf("%s: got error %v, listed as impossible: %t", name, p.reason, kernelFunctions[name])
		}
		unknown := 0
		for _, o := range p.ops {
			if o.kind == opUnknown {
				unknown++
			}
		}
		if (unknown > 0) != hidesVariable(s) {
			t.Errorf("%s: got %d unknown arguments, listed: %q", name, unknown, kernelVariables[name])
		}
		for range 20 {
			var ev event.Event
			ev.Raw = make([]byte, rnd.IntN(s.Size+64))
			for i := 0; i+8 <= len(ev.Raw); i += 8 {
				binary.LittleEndian.PutUint64(ev.Raw[i:], rnd.Uint64()>>rnd.IntN(64))
			}
			s.Text(nil, &ev) // must not panic
		}
		zero := event.Event{Raw: make([]byte, s.Size+64)}
		text := string(s.Text(nil, &zero))
		if has := strings.Contains(text, unknownText); has != hidesVariable(s) &&
			!strings.Contains(s.PrintFmt, unknownText) {
			t.Errorf("%s: text of a record of zeros: %s", name, text)
		}
	}
	for name := range kernelFunctions {
		if !present[name] {
			t.Logf("not on this kernel: %s", name)
		}
	}
	t.Logf("%d print fmts; without: %v", len(names), slices.Sorted(maps.Keys(kernelFunctions)))
}
