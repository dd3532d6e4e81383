package oracle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A program that frees all its memory has no leak; of the system calls that
// never return, exactly one is found.
func TestLeaksAreCounted(t *testing.T) {
	live(t, testkit.AMD64)
	out := testkit.Run(t, testkit.PPScript(t), "kmemleak", "--format", "json", "--alloc",
		"raw_syscalls:sys_enter//ptr=_tid/size=id/",
		"--free", "raw_syscalls:sys_exit//ptr=_tid/", "--", testkit.Load(t), "-getppid", "100").Want(t, 0)
	tables := testkit.Tables(t, out.Stdout)
	leaked := tables[len(tables)-1]
	const exitGroup = 231
	if n := len(leaked.Rows); n != 1 ||
		leaked.Rows[0].Int(t, "objects") != 1 && leaked.Rows[0].Int(t, "bytes")%exitGroup == 0 {
		t.Errorf("got %v, want exit_group, which does not return", leaked.Rows)
	}
}

// A program leaks ten of sixty allocations: exactly these are found, with the
// stack that made them, and with their bytes if the entry is observed too.
func TestUserLeaksAreFound(t *testing.T) {
	live(t, testkit.Uprobes)
	libc, err := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if err != nil || len(libc) == 0 {
		testkit.Requires(t, testkit.Optional("a C library", errors.New("none is /lib/*-linux-gnu/libc.so.6")))
	}
	program := compiled(t, "leak.c", "-O1", "-fomit-frame-pointer")
	command := []string{program}
	f := func(want string, more ...string) {
		t.Helper()
		args := append([]string{testkit.PPScript(t), "kmemleak", "-m", "4096", "--format", "json", "-g",
			"--user-callchain=dwarf", "--no-kernel-callchain",
			"--alloc", fmt.Sprintf(`uretprobe:malloc@"%s"//ptr=retval/`, libc[0]), "--free",
			fmt.Sprintf(`uprobe:free@"%s"//ptr=arg1/`, libc[0])}, more...)
		// The calls of all programs go through the rings with their stacks: on a
		// busy machine some are lost, and nothing is measured across a loss.
		testkit.Again(t, func() []string {
			out := testkit.Run(t, append(append(args[:len(args):len(args)], "--"), command...)...).Want(t, 0)
			got := leaksOf(t, out.Stdout, "")
			loss := last(t, out.Stdout).Loss
			switch {
			case got == want:
				return nil
			case loss["lost"] == 0:
				t.Errorf("got leaks %s, want %s; losses %v", got, want, loss)
			}
			return []string{fmt.Sprintf("got leaks %s, want %s; losses %v", got, want, loss)}
		})
	}
	f("leaky of main: 10 objects, 0 bytes\n")
	// leaky(1000), leaky(1005), ..., leaky(1045)
	call := fmt.Sprintf(`uprobe:malloc@"%s"//size=arg1/`, libc[0])
	f("malloc of leaky of main: 10 objects, 10225 bytes\n", "--call", call)
	command = append(command, "free") // all of them
	f("", "--call", call)
}

// Memory that the kernel keeps for a program that has ended is found with its
// bytes, whose number is in the kernel's list of message queues. A queue whose
// messages were all received leaves nothing.
func TestKernelLeaksAreFound(t *testing.T) {
	_, err := os.Stat("/proc/sysvipc/msg")
	live(t, testkit.GCC, testkit.Core("message queues", err))
	program := compiled(t, "msgleak.c", "-O1")
	f := func(mode string, wantMessages, wantBytes int64) {
		t.Helper()
		out := testkit.Run(t, testkit.PPScript(t), "kmemleak", "--format", "json", "-g", "--alloc",
			"kmem:kmalloc//ptr=ptr/size=bytes_req/", "--free", "kmem:kfree//ptr=ptr/",
			"--", program, mode).Want(t, 0)
		first, rest, _ := strings.Cut(out.Stdout, "\n")
		queue := strings.TrimPrefix(first, "queue ")
		t.Cleanup(func() { testkit.Run(t, program, "remove", queue) })
		messages, bytes := queued(t, queue)
		if messages != wantMessages || bytes != wantBytes {
			t.Fatalf("%s: the queue has %d messages of %d bytes, want %d of %d", mode, messages, bytes,
				wantMessages, wantBytes)
		}
		var objects, leaked int64
		all := leaksOf(t, rest, "do_msgsnd")
		for _, m := range regexp.MustCompile(`(?m)^(.*)\bload_msg\b.*: (\d+) objects, (\d+) bytes$`).
			FindAllStringSubmatch(all, -1) {
			// A message may be the first in a new slab, for which the allocator
			// creates a list of its objects' owners; this list stays with the
			// slab.
			if strings.Contains(m[1], "slab") {
				continue
			}
			n, _ := strconv.ParseInt(m[2], 10, 64)
			b, _ := strconv.ParseInt(m[3], 10, 64)
			objects, leaked = objects+n, leaked+b
		}
		// A message has a header, struct msg_msg, in front of it.
		if head := (leaked - bytes) / max(1, messages); objects != messages ||
			leaked != bytes+messages*head || messages > 0 && (head < 24 || head > 128) {
			t.Errorf(
				"%s: got %d objects of %d bytes, want the %d messages of %d bytes and their headers, of\n%s",
				mode, objects, leaked, messages, bytes, all)
		}
	}
	f("none", 0, 0)
	// The messages of several queues need new slabs, so this is repeated.
	for range 4 {
		f("keep", 15, 10*1000+5*500)
	}
}

// queued returns the kernel's numbers for a message queue.
func queued(t *testing.T, queue string) (messages, bytes int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/sysvipc/msg")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		// key msqid perms cbytes qnum ...
		if f := strings.Fields(line); len(f) > 4 && f[1] == queue {
			bytes, _ = strconv.ParseInt(f[3], 10, 64)
			messages, _ = strconv.ParseInt(f[4], 10, 64)
			return messages, bytes
		}
	}
	t.Fatalf("queue %s is not in\n%s", queue, text)
	return 0, 0
}

// leaksOf returns the leaks, one on a line: the functions of the stack up to a
// given one, else up to main.
func leaksOf(t *testing.T, output, last string) string {
	t.Helper()
	text := ""
	for line := range strings.Lines(output) {
		var r struct {
			Type string
			Data struct {
				Stacks []struct {
					Count, Value int64
					Stack        []struct{ Symbol string }
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, s := range r.Data.Stacks {
			var names []string
			for _, fr := range s.Stack {
				if names = append(names, fr.Symbol); fr.Symbol == cmp.Or(last, "main") {
					break
				}
			}
			text += fmt.Sprintf("%s: %d objects, %d bytes\n", strings.Join(names, " of "), s.Count, s.Value)
		}
	}
	return text
}
