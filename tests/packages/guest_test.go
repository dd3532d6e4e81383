package packages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
	"ppscript/tests/vm"
)

// image makes a disk image with a file system that contains the files of root.
func image(t *testing.T, root string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	out := testkit.Run(t, "mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", root, path)
	if out.Exit != 0 {
		t.Fatalf("mke2fs: %s", out.Stderr)
	}
	return path
}

// guestScript installs each package on a clean system with another kernel, and runs the
// program there. In an emulated guest, each start of the program takes a second or two.
const guestScript = `asks() {
	echo BEGIN $1
	$2 ppscript syscalls $3 -- true
	echo status $?
}
mkdir /debian; mount -t ext4 /dev/vda /debian || exit 1
for dir in proc sys dev; do mount --rbind /$dir /debian/$dir; done
debian="chroot /debian /usr/bin/env PATH=/usr/bin:/usr/sbin:/bin:/sbin"
$debian dpkg -i /ppscript.deb && $debian dpkg -V ppscript || exit 1
asks deb "$debian"
asks perf "$debian" "--engine perf"
echo BEGIN record
$debian ppscript record -e sched:sched_switch -o /tmp/switches -- sleep 0.1 && $debian ppscript info /tmp/switches
echo status $?
$debian dpkg -P ppscript && ! $debian dpkg -L ppscript 2>/dev/null || exit 1
left=$(find /debian -xdev -name "*ppscript*" ! -name "ppscript*.deb" ! -path "*/tmp/*")
[ -z "$left" ] || { echo left: $left; exit 1; }
mkdir /tar; tar -xzf /w/ppscript.tar.gz -C /tar || exit 1
asks tar "env PATH=$(echo /tar/*/usr/bin):/bin"
cd /; rpm -i /w/ppscript.rpm || exit 1
asks rpm "env PATH=/usr/bin:/bin"
echo BEGIN end
`

// inGuest installs and runs the packages in a guest with another kernel: on a disk with Debian,
// and without any distribution. The static program in the tar file and the .rpm needs nothing
// else.
func inGuest(t *testing.T, disk string, made map[string]string) {
	files := map[string]string{"/w/ppscript.tar.gz": made["gz"], "/w/ppscript.rpm": made["rpm"]}
	r := vm.Run(t, vm.Guest{MemoryMiB: 1024, Files: files, Disk: disk, Timeout: 4 * time.Minute}, guestScript)
	for run, want := range map[string]string{"deb": "mprotect(10)", "perf": "mprotect(10)",
		"record": "sched:sched_switch", "tar": "mprotect(10)", "rpm": "mprotect(10)"} {
		_, part, _ := strings.Cut(string(r.Output), "BEGIN "+run+"\n")
		part, _, _ = strings.Cut(part, "BEGIN ")
		if !strings.Contains(part, want) || !strings.Contains(part, "status 0\n") {
			t.Errorf("%s: no %q with status 0 in\n%s", run, want, part)
		}
	}
	if r.Status != 0 {
		t.Errorf("status %d", r.Status)
	}
}
