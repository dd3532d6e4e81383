package eventstring

import (
	"strings"
	"testing"

	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
)

func TestProbeEventStrings(t *testing.T) {
	f := func(text string, want probe.Spec, filter string) {
		t.Helper()
		list, err := Parse(text, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		s := list[0]
		if len(list) != 1 ||
			s.Kind != eventspec.Probe || s.Probe == nil || *s.Probe != want || s.Filter != filter {
			t.Errorf("%s: got %+v of %+v, want %+v", text, s.Probe, s, want)
		}
	}
	f("kprobe:do_sys_openat2", probe.Spec{Kind: probe.Kprobe, Name: "do_sys_openat2"}, "")
	f("kretprobe:vfs_*/retval<0/", probe.Spec{Kind: probe.Kretprobe, Name: "vfs_*"}, "retval<0")
	f(`uprobe:readline@"/bin/bash"/arg1>0/alias=r/`,
		probe.Spec{Kind: probe.Uprobe, Name: "readline", File: "/bin/bash"}, "arg1>0")
	f(`uretprobe:main.(*T).Get@"/a b/c"`,
		probe.Spec{Kind: probe.Uretprobe, Name: "main.(*T).Get", File: "/a b/c"}, "")
	f("uprobe:malloc@libc", probe.Spec{Kind: probe.Uprobe, Name: "malloc", File: "libc"}, "")
	f(`usdt:libstdcxx:throw@"libstdc++"`,
		probe.Spec{Kind: probe.USDT, Name: "libstdcxx:throw", File: "libstdc++"}, "")
	for text, want := range map[string]string{
		"uprobe:readline":           "needs a file",
		"uprobe:/bin/bash:readline": `needs a file: uprobe:readline@"/bin/bash"`,
		"usdt:/lib/x.so:p:n/a>0/":   `needs a file: usdt:p:n@"/lib/x.so"`,
		"uprobe:readline@/bin/bash": "in quotes",
		`uprobe:@"/bin/bash"`:       "name of the uprobe is missing",
		"kprobe:":                   "name of the kprobe is missing",
	} {
		if _, err := Parse(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
