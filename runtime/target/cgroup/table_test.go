package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// makeCgroups makes cgroups below the hierarchy of perf_event, to be removed with the test.
func makeCgroups(t *testing.T, root string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		for i := 1; i <= len(path); i++ {
			if i < len(path) && path[i] != '/' {
				continue
			}
			dir := root + path[:i]
			err := os.Mkdir(dir, 0o755)
			if os.IsExist(err) {
				continue
			}
			testkit.Requires(t, testkit.Optional("cgroups that can be made", err))
			t.Cleanup(func() { os.Remove(dir) })
		}
	}
}

func here(t *testing.T) (*Table, kernel.Mounts) {
	t.Helper()
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Requires(t, testkit.Optional("a perf_event or cgroup2 hierarchy",
		func() error {
			if mounts.PerfCgroup() == "" {
				return os.ErrNotExist
			}
			return nil
		}()))
	table, err := Open(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table, mounts
}

func numberOf(t *testing.T, dir string) uint64 {
	t.Helper()
	st, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Ino
}

func TestCgroupsByNumber(t *testing.T) {
	table, mounts := here(t)
	root := mounts.PerfCgroup()
	top := fmt.Sprintf("/pp-table-%d.slice", os.Getpid())
	unit, container := top+"/a.service", top+"/docker-"+id+".scope"
	makeCgroups(t, root, unit, container) // after the scan
	var told []string
	table.Announce(func(f *Facts) {
		if f.Container == id {
			told = append(told, f.Container)
		}
	})
	dead := numberOf(t, root+container)
	units := map[string]string{unit: "a.service", container: "docker-" + id + ".scope", "/": ""}
	for path, want := range units {
		f := table.At(numberOf(t, filepath.Join(root, path)))
		if f.Path != path || f.Unit != want || f.Unknown {
			t.Errorf("got %+v, want the unit %q of %s", *f, want, path)
		}
	}
	if len(told) != 1 || told[0] != id {
		t.Errorf("got %v told, want the container", told)
	}
	// Without the privilege the tree is searched.
	slow := Empty()
	slow.root = root
	if f := slow.At(dead); f.Container != id {
		t.Errorf("search: got %+v, want the container", *f)
	}
	// It is known when it is gone; one that nobody told of is not.
	if err := os.Remove(root + container); err != nil {
		t.Fatal(err)
	}
	if f := table.At(dead); f.Container != id {
		t.Errorf("of a dead cgroup: got %+v", *f)
	}
	again, _ := here(t)
	if f := again.At(dead); !f.Unknown || f.Path != fmt.Sprintf("cgroup-%d", dead) {
		t.Errorf("got %+v, want an unknown cgroup", *f)
	}
	again.NoteNew(dead, container)
	if f := again.At(dead); f.Container != id {
		t.Errorf("after it was told: got %+v", *f)
	}
	if n := testing.AllocsPerRun(100, func() { table.Of(dead, 1, 0) }); n > 0 && !table.legacy {
		t.Errorf("got %v allocations for a cgroup that is known, want none", n)
	}
}

func TestTableIsBounded(t *testing.T) {
	table := Empty()
	some := map[uint64]*Facts{}
	for i := range uint64(most) {
		some[i] = &Facts{Path: "/"}
	}
	table.add(some)
	table.NoteNew(most, "/last")
	if n := len(*table.facts.Load()); n > most || n != len(table.order) {
		t.Errorf("got %d cgroups and %d in order, want no more than %d", n, len(table.order), most)
	}
	if f := table.At(most); f.Path != "/last" {
		t.Errorf("got %+v for the last one", *f)
	}
}

// Where systemd and a runtime have hierarchies of version 1, processes tell.
func TestProcessesOfVersion1(t *testing.T) {
	proc := t.TempDir()
	pid := func(n, text string) {
		if err := os.MkdirAll(filepath.Join(proc, n), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, n, "cgroup"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pid("7", "4:memory:/docker/"+id+"\n3:perf_event:/lxc/moved\n"+
		"1:name=systemd:/system.slice/docker.service\n0::/\n")
	pid("8", "3:perf_event:/\n1:name=systemd:/user.slice/user-0.slice/session-1.scope\n")
	table := Empty()
	table.NoteNew(1, "/")
	table.legacy, table.processes = true, &processes{proc: proc, facts: map[process]*agedFacts{}}
	const second = int64(1e9)
	for _, c := range []struct {
		pid             int32
		at              int64
		container, unit string
	}{
		{7, 0, id, "docker.service"}, {8, 0, "", "session-1.scope"}, {9, 0, "", unknownUnit},
		{7, 5 * second, id, "docker.service"}, // it has ended by then
	} {
		if c.at > 0 {
			if err := os.RemoveAll(filepath.Join(proc, "7")); err != nil {
				t.Fatal(err)
			}
		}
		if f := table.Of(1, c.pid, c.at); f.Container != c.container || f.Unit != c.unit || f.Path != "/" {
			t.Errorf("process %d: got %+v, want %q, %q", c.pid, *f, c.container, c.unit)
		}
	}
}

// A path is a name for Dirs, whatever characters it has.
func TestPathsAreNames(t *testing.T) {
	_, mounts := here(t)
	root := mounts.PerfCgroup()
	for _, name := range []string{`plain`, `run-r1\x2d.scope`, `a*[b]`, `a{1}(x)|y+?$`, `^a.b`} {
		path := fmt.Sprintf("/pp-name-%d-%s", os.Getpid(), name)
		makeCgroups(t, root, path, path+"x")
		_, dirs, err := Dirs([]string{Pattern(path)})
		if err != nil || len(dirs) != 1 || dirs[0] != root+path {
			t.Errorf("%s: got %q, %v", path, dirs, err)
		}
	}
}

func TestTargetsByName(t *testing.T) {
	_, mounts := here(t)
	root := mounts.PerfCgroup()
	top := fmt.Sprintf("/pp-target-%d.slice", os.Getpid())
	pod := top + "/kubepods-pod" + uidUnit + ".slice"
	mine := hex64(fmt.Sprintf("abcd%08x", os.Getpid()))
	first, second := pod+"/cri-containerd-"+mine+".scope", pod+"/cri-containerd-"+mine[:63]+"1.scope"
	makeCgroups(t, root, top+"/pp-web.service/inner.service", first+"/nested", second)
	n := OpenNames(NameSources{Root: files(t, map[string]string{
		"/var/log/pods/shop_cart-0_" + uid + "/x":                "",
		"/var/lib/docker/containers/" + mine + "/config.v2.json": `{"Name":"/web"}`,
	})})
	n.kubelet = ""
	defer n.Close()
	for _, c := range []struct {
		kind Kind
		name string
		want string // paths, or a part of the error
	}{
		{Container, mine, first}, {Container, "web", first}, {Container, mine[:20], "means 2 of them: " + mine},
		{Container, "wab", "did you mean web?"}, {Container, "abc", "there is none"},
		{Pod, uid, pod}, {Pod, "shop/cart-0", pod}, {Pod, "cart-0", pod}, {Pod, "shop/card-0", "did you mean shop/cart-0?"},
		{Unit, "pp-web", top + "/pp-web.service"}, {Unit, "pp-web.service", top + "/pp-web.service"},
		{Unit, top[1:], top}, {Unit, "inner.service", top + "/pp-web.service/inner.service"},
		{Unit, "pp-wab.service", "did you mean pp-web.service?"},
	} {
		_, paths, err := findIn(c.kind, c.name, n, kernel.Mounts{Cgroup2: root})
		switch got := strings.Join(paths, " "); {
		case err == nil && got != c.want:
			t.Errorf("%v %s: got %s, want %s", c.kind, c.name, got, c.want)
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%v %s: got %v, want %s", c.kind, c.name, err, c.want)
		}
	}
}

// TestTargetsOfVersion1 checks that units and containers that the hierarchy of perf_event has not
// are found in another one, of version 1: of those the processes are the target.
func TestTargetsOfVersion1(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	none := t.TempDir()
	root := filepath.Join(t.TempDir(), "v1")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	hierarchy := fmt.Sprintf("none,name=pp-target-%d", os.Getpid())
	testkit.Requires(t, testkit.Optional("cgroups of version 1",
		unix.Mount("none", root, "cgroup", 0, hierarchy)))
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	id := hex64(fmt.Sprintf("abce%08x", os.Getpid()))
	service, container := "/system.slice/pp-old.service", "/docker/"+id
	inner := service + "/inner"
	makeCgroups(t, root, inner, container)
	sleeper := func(path string) int {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		if err := os.WriteFile(root+path+"/tasks", []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
		return cmd.Process.Pid
	}
	first, second, third := sleeper(service), sleeper(inner), sleeper(container)
	n := OpenNames(NameSources{Root: files(t, nil)})
	n.kubelet = ""
	defer n.Close()
	for _, c := range []struct {
		kind Kind
		name string
		want string // paths, or a part of the error
		pids []int
	}{
		{Unit, "pp-old", service, []int{first, second}},
		{Unit, "system.slice", "/system.slice", []int{first, second}},
		{Container, id[:14], container, []int{third}},
		{Unit, "pp-odd.service", "did you mean pp-old.service?", nil},
	} {
		at, paths, err := findIn(c.kind, c.name, n, kernel.Mounts{Cgroup2: none, OthersV1: []string{root}})
		pids := processesIn(at, paths)
		switch got := strings.Join(paths, " "); {
		case err == nil && (got != c.want || at != root ||
			!slices.Equal(slices.Sorted(slices.Values(pids)), c.pids)):
			t.Errorf("%v %s: got %s in %s with %v, want %s with %v",
				c.kind, c.name, got, at, pids, c.want, c.pids)
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%v %s: got %v, want %s", c.kind, c.name, err, c.want)
		}
	}
}
