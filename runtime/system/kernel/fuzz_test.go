package kernel

import (
	"os"
	"path/filepath"
	"testing"
)

// Texts of /proc, also those that recordings of other machines hold.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{
		"6.1.0-13-amd64", "6", "5.10.", "999999999.1.1",
		"vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t: 1\n\nmodel : 2\n",
		"Max open files            1024                 unlimited            files\n",
		"25 1 0:22 / /sys\\040x rw - tracefs none rw\n26 1 0:2 / /c rw shared:1 - cgroup c rw,perf_event\n - \n",
		"CapPrm:\t000001ffffffffff\n", "CapPrm: x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ParseVersion(text); err == nil && (v.Major < 0 || v.Minor < 0 || v.Release != text) {
			t.Errorf("version %q: got %+v", text, v)
		}
		parseCPUModel(text)
		if l, err := findLimit(text, "Max open files"); err != nil && l != (limit{}) {
			t.Errorf("limit %q: got %+v and %v", text, l, err)
		}
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "self"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"mountinfo", "status"} {
			if err := os.WriteFile(filepath.Join(dir, "self", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadMounts(Roots{Proc: dir}); err != nil {
			t.Errorf("mounts %q: %v", text, err)
		}
		ReadCaps(Roots{Proc: dir})
	})
}
