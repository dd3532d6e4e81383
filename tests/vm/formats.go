package vm

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"ppscript/runtime/source/tracefs"
)

// This file reads the formats of guests' tracepoints. `ppscript check` uses copies of them on
// machines where it may not read the kernel's own.

// FormatGuests are the guests whose formats are shipped; they load modules with tracepoints.
func FormatGuests() (list []Guest) {
	modules := []string{"ext4", "xfs", "btrfs", "nfs", "nfsv4", "nvme", "scsi_mod"}
	for _, series := range []string{"5.10", "6.1", "6.12", "newest"} {
		list = append(list, Guest{Arch: "amd64", Kernel: series, MemoryMiB: 768,
			Modules: append([]string{"kvm_amd"}, modules...)})
	}
	return append(list, Guest{Arch: "arm64", Kernel: "6.1", MemoryMiB: 768, Modules: modules})
}

// ReadFormats is the command that prints a guest's formats; each line begins with the path of
// its file.
const ReadFormats = `uname -r; cd /sys/kernel/tracing/events && grep "" */*/format`

// ParseFormats parses the output of ReadFormats: the kernel's release, and format files by
// "sys:name".
func ParseFormats(output []byte) (release string, formats map[string]string, err error) {
	formats = map[string]string{}
	for line := range strings.Lines(string(output)) {
		path, text, ok := strings.Cut(line, "/format:")
		switch system, name, inSystem := strings.Cut(path, "/"); {
		case release == "":
			release = strings.TrimSpace(line)
		case !ok || !inSystem:
			return "", nil, fmt.Errorf("formats of %s: got %q, want SYSTEM/NAME/format:TEXT", release, line)
		default:
			formats[system+":"+name] += text
		}
	}
	if len(formats) == 0 {
		return "", nil, fmt.Errorf("formats of %q: got none", release)
	}
	return release, formats, nil
}

// MakeShipped reads the formats of all FormatGuests and makes the catalogue.
func MakeShipped(ctx context.Context, say func(string)) ([]byte, error) {
	all := map[tracefs.ShippedKernel]map[string]string{}
	for _, g := range FormatGuests() {
		var out bytes.Buffer
		r, err := Boot(ctx, g, ReadFormats, &out)
		if err == nil && r.Status != 0 {
			err = fmt.Errorf("exit status %d: %s", r.Status, tail(out.Bytes(), 3))
		}
		if err != nil {
			return nil, fmt.Errorf("guest %s %s: %w", g.Arch, g.Kernel, err)
		}
		release, formats, err := ParseFormats(out.Bytes())
		if err != nil {
			return nil, err
		}
		say(fmt.Sprintf("%s %s: %d tracepoints", g.Arch, release, len(formats)))
		all[tracefs.ShippedKernel{Arch: g.Arch, Release: release}] = formats
	}
	return tracefs.EncodeShipped(all)
}
