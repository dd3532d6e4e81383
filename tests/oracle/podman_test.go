package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// The work of a podman container is shown under its id and its name, in each engine; with
// its name as the target, only this work is observed.
func TestPodmanContainer(t *testing.T) {
	live(t, testkit.Podman, testkit.Optional("runc and busybox",
		testkit.Run(t, "sh", "-c", "command -v runc && test -x /bin/busybox").Err()))
	root, name := t.TempDir(), fmt.Sprintf("ppscript-test-%d", os.Getpid())
	for _, dir := range []string{"bin", "proc", "sys", "dev", "tmp", "etc", "run"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	busybox, err := os.ReadFile("/bin/busybox")
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "bin/busybox"), busybox, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The container uses no image and no network, and the machine's limit of open files.
	// runc is used because crun refuses machines with cgroups of both versions.
	out := testkit.Run(t, "podman", "--runtime", "runc", "run", "-d", "--name", name, "--network", "none",
		"--ulimit", "nofile=1000:1000", "--ulimit", "nproc=1000:1000", "--rootfs", root, "/bin/busybox", "sh",
		"-c", "while :; do busybox usleep 20000; done")
	t.Cleanup(func() { testkit.Run(t, "podman", "rm", "-f", "-t", "0", name) })
	testkit.Requires(t, testkit.Optional("containers of podman", out.Err()))
	id := strings.TrimSpace(out.Stdout)

	const naps = `tracepoint("raw_syscalls:sys_enter").where("comm == \"busybox\"")`
	for _, engine := range []string{"bpf", "perf"} {
		p := testkit.Start(t, testkit.PPScript(t), "--engine", engine, "--format", "json", "-i", "200ms",
			"-c", naps+`.by("container", "cgroup").agg(n = agg.count())`)
		p.Await("calls of the container", func(stdout string) bool {
			return strings.Contains(stdout, `"container_text":"`+name+`"`)
		})
		seen := false
		for _, table := range testkit.Tables(t, p.Stop().Stdout) {
			for _, row := range table.Rows {
				if row.Text(t, "container") != id {
					continue // another container, or busybox elsewhere
				}
				seen = true
				if cgroup := row.Text(t, "cgroup"); !strings.Contains(cgroup, "libpod-"+id) {
					t.Errorf("%s: got cgroup %q of container %s", engine, cgroup, id)
				}
			}
		}
		if !seen {
			t.Errorf("%s: got no calls of %s", engine, id)
		}
	}
	only := testkit.Run(t, testkit.PPScript(t), "--container", name, "--format", "json", "--duration",
		"500ms", "-c", `tracepoint("raw_syscalls:sys_enter").by("container").agg(n = agg.count())`).Want(t, 0)
	for _, row := range last(t, only.Stdout).Rows {
		if got := row.Text(t, "container"); got != id || row.Int(t, "n") == 0 {
			t.Errorf("--container %s: got %d calls of %q", name, row.Int(t, "n"), got)
		}
	}
	if n := len(last(t, only.Stdout).Rows); n != 1 {
		t.Errorf("--container %s: got %d containers", name, n)
	}
}
