package matrix

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/system/kernel"
	"ppscript/stdlib"
	"ppscript/tests/testkit"

	"golang.org/x/sys/unix"
)

// userCaps are the capabilities that the program needs so that an ordinary user
// can trace with it.
var userCaps = []kernel.Cap{
	kernel.CapPerfmon, kernel.CapBPF, kernel.CapDACReadSearch, kernel.CapSysPtrace, kernel.CapSyslog,
	kernel.CapIPCLock,
}

// notForUsers are the profilers that need more, with what they need.
var notForUsers = map[string]string{
	"kcore": "/proc/kcore asks for cap_sys_rawio",
}

// Every profiler runs for an ordinary user, if the program's file has the
// capabilities: none needs root.
func TestAsOrdinaryUser(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	dir := publicDir(t)
	load, program := publicCopy(t, testkit.Load(t), dir), publicCopy(t, testkit.PPScript(t), dir)
	testkit.Requires(t, testkit.Optional("capabilities of files", grant(program, userCaps)))
	for _, name := range stdlib.Names() {
		r := matrix[name]
		t.Run(name, func(t *testing.T) {
			testkit.Requires(t, r.needs...)
			if why := notForUsers[name]; why != "" {
				out := testkit.RunAs(t, nobody, append([]string{program, name}, r.args...)...)
				if out.Exit == 0 {
					t.Errorf("got status 0, want it refused: %s", why)
				}
				return
			}
			testkit.Again(t, func() []string { return asUser(t, name, r, program, load) })
		})
	}
}

// nobody is a user without any rights.
const nobody = 65534

// asUser runs a profiler with a command, as command does for root.
func asUser(t *testing.T, name string, r row, program, load string) (wrong []string) {
	t.Helper()
	comm := fmt.Sprintf("mx%d", os.Getpid())
	args := []string{program, name, "--format", "json", "-m", "1024"}
	if len(r.no) == len(ways) { // it has no target
		out := testkit.RunAs(t, nobody, slices.Concat(args, []string{"--duration", "50ms"}, r.args)...)
		switch {
		case notJSON(out.Stdout) != "":
			return []string{fmt.Sprintf("got %q, want JSON", notJSON(out.Stdout))}
		case out.Exit != 0 && strings.Contains(out.Stderr, "permi") || strings.Contains(out.Stderr, "root"):
			return []string{fmt.Sprintf("got status %d, %q, want no permission missing",
				out.Exit, out.Stderr)}
		}
		return nil
	}
	s := scenes[r.scene](t)
	if disk := s.words["{disk}"]; disk != "" {
		if err := os.Chmod(disk, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	work := s.load
	if s.command != nil {
		work = s.command
	}
	j := &job{name: name, way: "command", row: r, few: s.few}
	for i := range s.workers {
		j.workers = append(j.workers, fmt.Sprintf("%s-%d", comm, i))
	}
	if s.command != nil {
		j.workers = j.workers[:1]
	}
	if r.whole {
		j.foreign = true
		args = append(args, "--system")
	}
	out := testkit.RunAs(t, nobody,
		slices.Concat(args, s.fill(t, r.args), []string{"--", load}, work, []string{"-comm", comm})...)
	if out.Exit != 0 {
		return []string{fmt.Sprintf("got status %d, %q", out.Exit, out.Stderr)}
	}
	if !r.await {
		j.verify(t, out.Stdout, 1)
	}
	return j.wrong
}

// publicDir makes a directory of the test that every user may enter.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ppscript-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// publicCopy copies a program to a place where every user may run it.
func publicCopy(t *testing.T, file, dir string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// grant gives a file capabilities that are effective for every user who runs it: struct
// vfs_cap_data of uapi/linux/capability.h, as setcap writes it.
func grant(file string, caps []kernel.Cap) error {
	var set uint64
	for _, c := range caps {
		set |= 1 << c
	}
	const revision2, effective = 0x02000000, 1
	le := binary.LittleEndian
	data := le.AppendUint32(nil, revision2|effective)
	data = le.AppendUint32(data, uint32(set))
	data = le.AppendUint32(data, 0)
	data = le.AppendUint32(data, uint32(set>>32))
	data = le.AppendUint32(data, 0)
	return unix.Setxattr(file, "security.capability", data, 0)
}
