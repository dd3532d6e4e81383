package kernel

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadBlockDevice(t *testing.T) {
	sys := t.TempDir()
	for name, text := range map[string]string{
		"devices/vda/dev": "254:3\n", "devices/vda/size": "2048\n",
		"devices/vda/vda1/dev": "254:4\n", "devices/vda/vda1/size": "1000\n", "devices/vda/vda1/start": "48\n", "devices/vda/vda1/partition": "1\n",
	} {
		p := filepath.Join(sys, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	class := filepath.Join(sys, "class", "block")
	if err := os.MkdirAll(class, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"vda": "../../devices/vda", "vda1": "../../devices/vda/vda1"} {
		if err := os.Symlink(to, filepath.Join(class, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := Roots{Sys: sys}
	disk, err := ReadBlockDevice(r, "/dev/vda")
	if err != nil || disk.Dev != 254<<20|3 || disk.Size != 2048 || disk.Part {
		t.Errorf("got %+v, %v", disk, err)
	}
	part, err := ReadBlockDevice(r, "vda1")
	if err != nil || part.Dev != 254<<20|3 || part.Start != 48 || part.Size != 1000 || !part.Part ||
		part.Disk != "vda" {
		t.Errorf("got %+v, %v; want the disk's number and the partition's range", part, err)
	}
	for _, name := range []string{"vdb", "", "../x", "/dev/"} {
		if _, err := ReadBlockDevice(r, name); err == nil || !strings.Contains(err.Error(), "block device") {
			t.Errorf("%q: got %v, want an error", name, err)
		}
	}
}
