package oracle

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ppscript/tests/testkit"
)

// doctor predicts whether a profiler runs: as root, and as a user with only the two
// capabilities for tracing.
func TestDoctorTellsWhatRuns(t *testing.T) {
	live(t)
	program := filepath.Join(testkit.Open(t), "ppscript")
	copyProgram(t, testkit.PPScript(t), program)
	const perfmon, bpf, nobody = 38, 39, 65534
	as := func(caps []uintptr, args ...string) (stdout string, failed bool) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = filepath.Dir(program)
		cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
		if caps != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{AmbientCaps: caps,
				Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		out, err := cmd.Output()
		return string(out), err != nil
	}
	names := []string{"syscalls", "page-faults", "profile", "hwstat"}
	for who, caps := range map[string][]uintptr{"root": nil, "two capabilities": {perfmon, bpf}} {
		text, _ := as(caps, "doctor", "--format", "json", "--profilers="+strings.Join(names, ","))
		var told struct {
			Checks    []struct{ Name, Status string }
			Profilers []struct {
				Name, Status, Detail              string
				Capabilities, Missing, Facilities []string
			}
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil || len(told.Checks) < 10 ||
			len(told.Profilers) != len(names) {
			t.Fatalf("%s: got %v of %s", who, err, text)
		}
		for _, p := range told.Profilers {
			if p.Status == "unknown" || len(p.Status) == 0 {
				t.Errorf("%s, %s: got %+v", who, p.Name, p)
			}
			_, failed := as(caps, p.Name, "--duration", "20ms")
			if failed != (p.Status == "fail") {
				t.Errorf("%s, %s: doctor says %s (%s), and the run fails: %v", who, p.Name, p.Status,
					p.Detail, failed)
			}
			if p.Status != "fail" && len(p.Missing) > 0 {
				t.Errorf("%s, %s: it works without %v, which it needs", who, p.Name, p.Missing)
			}
			if p.Name == "syscalls" && p.Status != "fail" && !(slices.Contains(p.Facilities, "tracepoints") &&
				(slices.Contains(p.Capabilities, "cap_perfmon") || paranoidOff())) {
				t.Errorf("%s: got %+v, want tracepoints and cap_perfmon", who, p)
			}
		}
	}
}

func paranoidOff() bool {
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	return err == nil && strings.HasPrefix(string(text), "-")
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
