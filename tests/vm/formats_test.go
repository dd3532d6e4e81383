package vm

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/source/tracefs"
)

// The shipped formats, with which scripts are checked where the kernel's own may not be read, equal
// the formats of these kernels completely, to the byte.
func TestShippedFormatsAreThoseOfGuests(t *testing.T) {
	for _, g := range FormatGuests() {
		t.Run(g.Arch+" "+g.Kernel, func(t *testing.T) {
			t.Parallel()
			r := Run(quiet{t}, g, ReadFormats)
			release, formats, err := ParseFormats(r.Output)
			if err != nil || r.Status != 0 {
				t.Fatalf("got status %d, %v", r.Status, err)
			}
			shipped := tracefs.Shipped(tracefs.ShippedKernel{Arch: g.Arch, Release: release})
			if shipped == nil {
				// Debian has replaced the kernel from which they were read.
				t.Skipf("needs a kernel whose formats are shipped (%v; this is %s): make formats",
					tracefs.ShippedKernels(), release)
			}
			names, err := shipped.Events()
			if want := slices.Sorted(maps.Keys(formats)); err != nil || !slices.Equal(names, want) {
				t.Fatalf("got %d tracepoints, %v, want the %d of the guest", len(names), err, len(want))
			}
			for _, name := range names {
				system, event, _ := strings.Cut(name, ":")
				got, err := shipped.Format(system, event)
				if want := tracefs.WithoutNumber(formats[name]); err != nil || string(got) != want {
					t.Errorf("%s: got %v\n%s\nwant\n%s", name, err, got, want)
				}
				if _, err := shipped.Schema(system, event); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// quiet suppresses the log of a guest's output, which has five megabytes.
type quiet struct{ *testing.T }

func (quiet) Logf(string, ...any) {}
