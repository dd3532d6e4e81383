package vm

import (
	"strings"
	"testing"
	"time"
)

// Programs find the members of the kernel's structures wherever a kernel has them, and
// the texts of processes, those that are not in memory when a call begins too.
func TestKernelReads(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/bpf.test":   goProgram(t, "amd64", "bpf.test", "test", "-c", module+"bpf"),
		"/w/probe.test": goProgram(t, "amd64", "probe.test", "test", "-c", module+"runtime/probe"),
	}
	for _, kernel := range []string{"5.10", "6.1", "6.12"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			r := Run(t, Guest{Kernel: kernel, Files: files, Timeout: 3 * time.Minute},
				"export PPSCRIPT_REQUIRE=root,tracefs,tracepoints,btf,kprobes\n"+
					"cd /; bpf.test -test.run 'KernelRead|UserText' -test.v && probe.test -test.run 'KernelArg|NamedArg' -test.v")
			if r.Status != 0 {
				t.Errorf("got status %d, want all tests to pass", r.Status)
			}
		})
	}
}

// Arguments of kernel functions lead into the kernel's memory, in programs that are
// attached there: the file that is read, by the name of its directory entry.
func TestKernelArgumentsLead(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	script := `exec 2>&1; cd /w; echo x >known
four='for n in 1 2 3 4; do dd if=/w/known of=/dev/null bs=16 2>/dev/null; done'
ppscript -c 'kprobe("vfs_read").where(lambda e: e.file.f_path.dentry.d_name.name == "known").by(name = lambda e: e.file.f_path.dentry.d_name.name, tid = lambda e: task().pid == e.tid, positive = "count > 0").count()' -- sh -c "$four"
ppscript -c 'kretprobe("vfs_read").where("result == 2").by(result = "result").count()' -- sh -c "$four"
ppscript -c 'kprobe("vfs_read").where("file->f_path.dentry->d_name.name == \"known\"").by(links = "file->f_inode->i_nlink").count()' -- sh -c "$four"
exit 0`
	for _, kernel := range []string{"5.10", "6.12"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			r := Run(t, Guest{Kernel: kernel, Files: files}, script)
			// dd reads each file twice: its bytes, and its end.
			for _, want := range []string{"known true 1 8", "2 4", "1 8"} {
				if !strings.Contains(strings.Join(strings.Fields(string(r.Output)), " "), " "+want+" ") {
					t.Errorf("got status %d, want a row of %s", r.Status, want)
				}
			}
		})
	}
}
