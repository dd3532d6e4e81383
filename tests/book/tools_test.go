package book

import (
	"strings"
	"testing"

	"ppscript/docs"
	scriptlib "ppscript/scripts"
	"ppscript/stdlib"
)

// The tools of others by name: of Debian's packages bpfcc-tools 0.26, libbpf-tools 0.26, bpftrace
// 0.17 and perf-tools-unstable 1.0.1.
const (
	bccTools = `
argdist bashreadline bindsnoop biolatency biolatpcts biopattern biosnoop biotop bitesize bpflist
btrfsdist btrfsslower cachestat cachetop capable cobjnew compactsnoop cpudist cpuunclaimed
criticalstat dbslower dbstat dcsnoop dcstat deadlock dirtop drsnoop execsnoop exitsnoop ext4dist
ext4slower filegone filelife fileslower filetop funccount funcinterval funclatency funcslower
gethostlatency hardirqs inject javacalls javaflow javagc javaobjnew javastat javathreads
killsnoop klockstat kvmexit llcstat mdflush memleak mountsnoop mysqld_qslower netqtop nfsdist
nfsslower nodegc nodestat offcputime offwaketime oomkill opensnoop perlcalls perlflow perlstat
phpcalls phpflow phpstat pidpersec ppchcalls profile pythoncalls pythonflow pythongc pythonstat
readahead reset-trace rubycalls rubyflow rubygc rubyobjnew rubystat runqlat runqlen runqslower
shmsnoop slabratetop sofdsnoop softirqs solisten sslsniff stackcount statsnoop syncsnoop
syscount tclcalls tclflow tclobjnew tclstat tcpaccept tcpcong tcpconnect tcpconnlat tcpdrop
tcplife tcpretrans tcprtt tcpstates tcpsubnet tcpsynbl tcptop tcptracer threadsnoop tplist trace
ttysnoop vfscount vfsstat virtiostat wakeuptime xfsdist xfsslower zfsdist zfsslower
`
	libbpfTools = `
bashreadline bindsnoop biolatency biopattern biosnoop biostacks biotop bitesize btrfsdist btrfsslower
cachestat capable cpudist cpufreq drsnoop execsnoop exitsnoop ext4dist ext4slower filelife filetop
fsdist fsslower funclatency gethostlatency hardirqs javagc killsnoop klockstat ksnoop llcstat mdflush
mountsnoop nfsdist nfsslower numamove offcputime oomkill opensnoop readahead runqlat runqlen
runqslower sigsnoop slabratetop softirqs solisten statsnoop syscount tcpconnect tcpconnlat tcplife
tcprtt tcpstates tcpsynbl tcptop tcptracer vfsstat wakeuptime xfsdist xfsslower
`
	bpftraceTools = `
bashreadline biolatency biosnoop biostacks bitesize capable cpuwalk dcsnoop execsnoop
gethostlatency killsnoop loads mdflush naptime oomkill opensnoop pidpersec runqlat runqlen
setuids ssllatency sslsnoop statsnoop swapin syncsnoop syscount tcpaccept tcpconnect tcpdrop
tcplife tcpretrans tcpsynbl threadsnoop undump vfscount vfsstat writeback xfsdist
`
	perfTools = `
bitesize cachestat execsnoop funccount funcgraph funcslower functrace iolatency iosnoop
killsnoop kprobe opensnoop perf-stat-hist reset-ftrace syscount tcpretrans tpoint uprobe
`
)

// Each of these names is the name of a script, or a page names the command that does the same.
func TestToolsOfOthersAreFound(t *testing.T) {
	for _, names := range []string{bccTools, libbpfTools, bpftraceTools, perfTools} {
		for _, name := range strings.Fields(names) {
			_, profiler := stdlib.Find(name)
			_, script := scriptlib.Find(name)
			if _, _, told := docs.Called(name); !profiler && !script && !told {
				t.Errorf("%s: no script has the name, and no page of docs/ says what does it", name)
			}
		}
	}
	answer, page, _ := docs.Called("biotop-bpfcc")
	if answer != "ppscript biosnoop --table -i 1s: by program and kind" || page != "from-bcc" {
		t.Errorf("biotop-bpfcc: got %q of %s", answer, page)
	}
	for name, want := range map[string]string{
		"bench": "ppscript stat -r 5 -- perf bench sched pipe", "sched": "ppscript sched-latency",
		"c2c": "ppscript c2c", "kmem": "ppscript kmallocs", "evlist": "ppscript info perf.data",
	} {
		if answer, page, _ := docs.Called(name); !strings.HasPrefix(answer, want) || page != "from-perf" {
			t.Errorf("%s: got %q of %s, want %s", name, answer, page, want)
		}
	}
	if _, _, ok := docs.Called("no-such-tool"); ok {
		t.Error("no-such-tool: got an answer")
	}
}
