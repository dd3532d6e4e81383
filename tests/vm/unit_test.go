package vm

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// unitScript starts systemd as the first process of a namespace, as in a container. The work
// of units of systemd-run is shown under their names in each engine; with a unit's name as the
// target, only its work is observed.
const unitScript = `mkdir -p /etc/systemd/system /var/log; mount -t tmpfs tmpfs /run
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
for target in default sysinit basic shutdown; do
	printf '[Unit]\nDescription=x\nDefaultDependencies=no\n' >/etc/systemd/system/$target.target
done
unshare -p -f -m sh -c 'mount -t proc proc /proc; exec env container=guest systemd --system --log-target=null' \
	</dev/null >/dev/null 2>&1 &
n=0; until [ -S /run/systemd/private ] || [ $n = 300 ]; do sleep 0.1; n=$((n+1)); done
begin() { nsenter -t $(pidof systemd) -p -m systemd-run "$@" sh -c 'while :; do usleep 20000; done' || exit 1; }
begin --unit=naps
begin --scope --unit=dozes --slice=resting.slice </dev/null >/dev/null 2>&1 &
until cat /sys/fs/cgroup/resting.slice/dozes.scope/cgroup.procs 2>/dev/null | grep -q .; do sleep 0.1; done
naps='tracepoint("raw_syscalls:sys_enter").where("comm == \"usleep\"")'
for engine in bpf perf; do
	echo BEGIN $engine
	ppscript --engine $engine --format csv --duration 2s -c "$naps"'.by("unit", "cgroup").agg(n = agg.count())'
done
echo BEGIN target
ppscript --unit naps.service --format csv --duration 2s -c "$naps"'.by("unit", "cgroup").agg(n = agg.count())'
echo BEGIN end
exit 0
`

func TestUnitsOfSystemdRun(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	for _, name := range []string{"/lib/systemd/systemd", "/usr/bin/systemd-run"} {
		if _, err := os.Stat(name); err != nil {
			if os.Getenv(requireEnv) == "require" {
				t.Fatal(err)
			}
			t.Skipf("needs the Debian package systemd: %v", err)
		}
		files["/w/"+filepath.Base(name)] = name
	}
	r := Run(t, Guest{MemoryMiB: 768, Files: files, Timeout: 3 * time.Minute}, unitScript)
	row := regexp.MustCompile(`(?m)^[^,\n]+,table,([^,\n]*),([^,\n]*),[1-9]`)
	naps, dozes := "naps.service in /system.slice/naps.service", "dozes.scope in /resting.slice/dozes.scope"
	both := []string{dozes, naps}
	for name, want := range map[string][]string{"bpf": both, "perf": both, "target": {naps}} {
		_, part, _ := strings.Cut(string(r.Output), "BEGIN "+name+"\n")
		part, _, _ = strings.Cut(part, "BEGIN ")
		var got []string
		for _, m := range row.FindAllStringSubmatch(part, -1) {
			got = append(got, m[1]+" in "+m[2])
		}
		if slices.Sort(got); r.Status != 0 || !slices.Equal(got, want) {
			t.Errorf("%s: got status %d and %q, want %q", name, r.Status, got, want)
		}
	}
}
