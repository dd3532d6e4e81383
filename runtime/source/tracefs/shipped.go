package tracefs

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
)

// This file reads the catalogue of shipped formats. They are used to check and explain scripts if
// tracefs cannot be read, on a laptop or in a container. They are never used to open events: the
// numbers of events are valid for one boot only, so the catalogue has none.
//
// The catalogue has all tracepoints of some stock kernels. Each distinct text of a format is stored
// once, with the list of its kernels: 7 MB, compressed to 200 kB. `make formats` makes it from the
// guests of tests/vm, and TestShippedFormatsAreThoseOfGuests there compares it with them.

//go:embed shipped.zst
var shippedBytes []byte

// A ShippedKernel is a kernel whose formats are shipped.
type ShippedKernel struct {
	Arch    string // as Go names it
	Release string // as uname -r prints it
}

func (k ShippedKernel) String() string { return "Linux " + k.Release }

// shippedFormats are the formats of one kernel: systems, then names, then texts.
type shippedFormats struct {
	kernel  ShippedKernel
	systems map[string]map[string][]byte
}

// noNumber replaces the line with the event's number in a format.
const noNumber = "ID: 0\n"

// EncodeShipped makes the catalogue from the texts of format files, by kernel and "sys:name".
func EncodeShipped(formats map[ShippedKernel]map[string]string) ([]byte, error) {
	kernels := slices.SortedFunc(maps.Keys(formats), func(a, b ShippedKernel) int {
		return strings.Compare(a.Arch+a.Release, b.Arch+b.Release)
	})
	type version struct{ event, text string }
	of := map[version][]string{}
	var text bytes.Buffer
	for i, k := range kernels {
		fmt.Fprintf(&text, "kernel %s %s\n", k.Arch, k.Release)
		for name, format := range formats[k] {
			v := version{name, WithoutNumber(format)}
			of[v] = append(of[v], strconv.Itoa(i))
		}
	}
	// The versions of one event are adjacent, which compresses best.
	for _, v := range slices.SortedFunc(maps.Keys(of), func(a, b version) int {
		return strings.Compare(a.event+"\n"+a.text, b.event+"\n"+b.text)
	}) {
		fmt.Fprintf(&text, "event %s %s %d\n%s", v.event, strings.Join(of[v], ","), len(v.text), v.text)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithWindowSize(8<<20))
	if err != nil {
		return nil, err
	}
	return w.EncodeAll(text.Bytes(), nil), w.Close()
}

// WithoutNumber returns the text of a format file without the event's number,
// for the catalogue.
func WithoutNumber(format string) string {
	var b strings.Builder
	for line := range strings.Lines(format) {
		if strings.HasPrefix(line, "ID:") {
			line = noNumber
		}
		b.WriteString(line)
	}
	return b.String()
}

// decodeShipped decodes a catalogue.
func decodeShipped(packed []byte) ([]*shippedFormats, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := r.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	var all []*shippedFormats
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		words := strings.Fields(string(line))
		switch {
		case len(words) == 3 && words[0] == "kernel":
			all = append(all, &shippedFormats{
				kernel:  ShippedKernel{words[1], words[2]},
				systems: map[string]map[string][]byte{},
			})
		case len(words) == 4 && words[0] == "event":
			size, err := strconv.Atoi(words[3])
			if err != nil || size < 0 || size > len(rest) {
				return nil, fmt.Errorf("format of %s: got %s bytes, want at most %d", words[1], words[3],
					len(rest))
			}
			system, name, _ := strings.Cut(words[1], ":")
			for number := range strings.SplitSeq(words[2], ",") {
				i, err := strconv.Atoi(number)
				if err != nil || i < 0 || i >= len(all) {
					return nil, fmt.Errorf("format of %s: kernel: got %s, want 0 to %d", words[1], number,
						len(all)-1)
				}
				if all[i].systems[system] == nil {
					all[i].systems[system] = map[string][]byte{}
				}
				all[i].systems[system][name] = rest[:size:size]
			}
			rest = rest[size:]
		default:
			return nil, fmt.Errorf("got the line %q, want a kernel or an event", line)
		}
		text = rest
	}
	return all, nil
}

// shipped returns the formats of all kernels in the catalogue.
var shipped = sync.OnceValue(func() []*shippedFormats {
	all, err := decodeShipped(shippedBytes)
	if err != nil {
		panic("BUG: shipped.zst: " + err.Error())
	}
	return all
})

// nearestKernel chooses the shipped formats for the running kernel: of the newest kernel that is
// not newer than running, else of the oldest. If the catalogue has no kernel of the architecture,
// it uses amd64.
func nearestKernel(all []*shippedFormats, arch string, running kernel.Version) (best *shippedFormats) {
	if !slices.ContainsFunc(all, func(s *shippedFormats) bool { return s.kernel.Arch == arch }) {
		arch = "amd64"
	}
	series := func(s *shippedFormats) kernel.Version {
		v, _ := kernel.ParseVersion(s.kernel.Release)
		v.Patch = 0
		return v
	}
	for _, s := range all {
		if s.kernel.Arch != arch {
			continue
		}
		switch {
		case best == nil, series(s).Compare(running) <= 0 && series(s).Compare(series(best)) > 0,
			series(best).Compare(running) > 0 && series(s).Compare(series(best)) < 0:
			best = s
		}
	}
	return best
}

// ShippedKernels lists the kernels whose formats are shipped.
func ShippedKernels() (list []ShippedKernel) {
	for _, s := range shipped() {
		list = append(list, s.kernel)
	}
	return list
}

// Shipped returns the shipped formats of a kernel; nil if there are none.
func Shipped(k ShippedKernel) *FS {
	for _, s := range shipped() {
		if s.kernel == k {
			return newShipped(s, nil)
		}
	}
	return nil
}

func newShipped(s *shippedFormats, why error) *FS {
	enums := func(names []string) map[string]int64 { return enumerators("/sys/kernel/btf", names) }
	return &FS{Options: &Options{Enums: enums}, schemas: map[string]*event.Schema{}, shipped: s, why: why}
}

// FindFormats returns this machine's tracefs or, if that cannot be read, the shipped formats of a
// similar kernel. It is for describing and checking scripts; to open events, use Find.
func FindFormats() *FS {
	f, err := Find()
	if err == nil {
		// A user who may list the directory may not always read the files in it.
		_, err = privilege.ReadFile(privilege.Kernel, filepath.Join(f.root, "events", "header_page"))
		switch {
		case err == nil:
			return f
		case errors.Is(err, fs.ErrPermission):
			err = noAccess(filepath.Join(f.root, "events"), err)
		default:
			return f
		}
	}
	running, _ := kernel.ReadVersion(kernel.Roots{})
	return newShipped(nearestKernel(shipped(), runtime.GOARCH, running), err)
}

// Instead returns the message that shipped formats are used, of which kernel, and why; "" if the
// formats are this machine's.
func (f *FS) Instead() string {
	if f.shipped == nil {
		return ""
	}
	return fmt.Sprintf("tracepoints are taken as %s has them: %v", f.shipped.kernel, f.why)
}

// notShipped converts err, that an event does not exist. With shipped formats, this kernel
// may still have the event, so the result is that this cannot be checked.
func (f *FS) notShipped(name string, err error) error {
	if f.shipped == nil {
		return err
	}
	var e *diag.Error
	if errors.As(err, &e) && e.Cause != nil {
		err = e.Cause
	}
	return &diag.Unverified{Feature: name, Why: fmt.Errorf("%w in %s", err, f.shipped.kernel)}
}
