package main

import (
	"slices"
	"strings"
	"testing"
)

// namesakeOptions are the options of the tools whose names scripts have: of bcc 0.26, in Python and as
// libbpf-tools, of bpftrace 0.17 and perf-tools 1.0.1. A colon stands for a value, and each N for a
// number that is an argument.
var namesakeOptions = map[string]string{
	"bashreadline":   "-s: --shared:",
	"bindsnoop":      "-t --timestamp -w --wide -p: --pid: -P: -E --errors -x -u: -U --count --cgroupmap: --mntnsmap:",
	"biolatency":     "N N -T --timestamp -Q --queued -m --milliseconds -D --disks -F --flags -e --extension -j --json -d: --disk: -c: --cgroup:",
	"biopattern":     "N N -d: --disk: -T --timestamp",
	"biosnoop":       "-Q --queue -d: --disk: -P --pattern -c: --cgroup:",
	"biostacks":      "N -d: --disk: -m --milliseconds",
	"bitesize":       "N N -T --timestamp -c: --comm: -d: --disk:",
	"cachestat":      "N N -T --timestamp",
	"cachetop":       "N",
	"capable":        "-v -p: -K --kernel-stack -U --user-stack -x --cgroupmap: --mntnsmap: --unique -c: --cgroup:",
	"cpudist":        "N N -O --offcpu -T --timestamp -m --milliseconds -P --pids -L --tids -p: --pid: -I --include-idle -e --extension -c: --cgroup:",
	"dcsnoop":        "-a --all",
	"execsnoop":      "-T --time -t --timestamp -x --fails --cgroupmap: --mntnsmap: -u: --uid: -q --quote -n: --name: -l: --line: -U --print-uid --max-args: -P: --ppid: -c: --cgroup: -v",
	"exitsnoop":      "-t --timestamp --utc -p: --pid: --label: -x --failed --per-thread -T --threaded -c: --cgroup:",
	"ext4slower":     "N -j -p: --csv -c -d: --duration: -m: --min: -t: --type:",
	"filelife":       "-p: --pid:",
	"filetop":        "N N -a --all-files -C --noclear -r: --maxrows: --rows: -s: --sort: -p: --pid:",
	"fsdist":         "N N -T --timestamp -m --milliseconds -p: --pid: -t: --type:",
	"fsslower":       "-c --csv -d: --duration: -m: --min: -p: --pid: -t: --type:",
	"funclatency":    "-p: --pid: -i: --interval: -d: --duration: -T --timestamp -u --microseconds -m --milliseconds -F --function -r --regexp -l: --level: -v -c: --cgroup:",
	"gethostlatency": "-p: --pid: -l: --libc:",
	"hardirqs":       "N N -T --timestamp -N --nanoseconds -C --count -d --dist --distributed -c: --cgroup:",
	"killsnoop":      "-x --failed -p: --pid: -T: --tpid: -s: --signal: -k --kill -n",
	"mountsnoop":     "-P --parent-process -d --detailed -p: --pid: -t --timestamp",
	"offcpu":         "N -p: -t: -u -k -U -K -d -f -m: -M: --state: --stack-storage-size: --perf-max-stack-depth:",
	"offwake":        "N -p: -t: -u -k -U -K -d -f -m: -M: --state: --stack-storage-size:",
	"opensnoop":      "-T --timestamp -U --print-uid -x --failed -p: --pid: -t: --tid: --cgroupmap: --mntnsmap: -u: --uid: -d: --duration: -n: --name: -e --extended_fields -f: --flag_filter: -F --full-path -b: --buffer-pages:",
	"runqlat":        "N N -T --timestamp -m --milliseconds -P --pids -L --tids --pidnss -p: --pid: -c: --cgroup:",
	"runqlen":        "N N -T --timestamp -O --runqocc -C --cpus -f: --frequency:",
	"softirqs":       "N N -T --timestamp -N --nanoseconds -d --dist --distributed -C --count -E --events -c:",
	"solisten":       "-t --timestamp --show-netns -p: --pid: -n:",
	"sslsniff":       "-p: --pid: -u: --uid: -x --extra -c: --comm: -o --no-openssl -g --no-gnutls -n --no-nss -d --debug --hexdump --max-buffer-size: -l --latency --handshake --extra-lib:",
	"stackcount":     "-p: --pid: -c: --cpu: -i: --interval: -D: --duration: -T --timestamp -r --regexp -s --offset -P --perpid -K --kernel-stacks-only -U --user-stacks-only -v --verbose -d --delimited -f --folded --debug",
	"argdist":        "-p: --pid: -z: --string-size: -i: --interval: -d: --duration: -n: --number: -v --verbose -c --cumulative -T: --top: -H: --histogram: -C: --count: -I: --include: -t: --tid:",
	"statsnoop":      "-t --timestamp -x --failed -p: --pid:",
	"swaps":          "-T --no-timestamp",
	"syscount":       "N -p: --pid: -t: --tid: --ppid: -i: --interval: -d: --duration: -T: --top: -x --failures -e: --errno: -L --latency -m --milliseconds -P --process -l --list --syscall: -c:",
	"tcpaccept":      "-T --time -t --timestamp -p: --pid: -P: --port: -4 --ipv4 -6 --ipv6 --cgroupmap: --mntnsmap:",
	"tcpconnect":     "-t --timestamp -p: --pid: -P: --port: -4 --ipv4 -6 --ipv6 -L --lport -U --print-uid -u: --uid: -c --count --cgroupmap: --mntnsmap: -d --dns -s --source-port",
	"tcpconnlat":     "N -t --timestamp -p: --pid: -L --lport -4 --ipv4 -6 --ipv6 -v",
	"tcplife":        "-T --time -t --timestamp -w --wide -s --csv -p: --pid: -L: --localport: -D: --remoteport: -4 --ipv4 -6 --ipv6",
	"tcpretrans":     "-s --sequence -l --lossprobe -c --count -4 --ipv4 -6 --ipv6",
	"tcprtt":         "-i: --interval: -d: --duration: -T --timestamp -m --milliseconds -p: --lport: -P: --rport: -a: --laddr: -A: --raddr: -b --byladdr -B --byraddr -D --debug -e --extension -4 --ipv4 -6 --ipv6",
	"tcpstates":      "-T --time -t --timestamp -w --wide -s --csv -L: --localport: -D: --remoteport: -Y --journal -4 --ipv4 -6 --ipv6",
	"tcptop":         "N N -C --noclear -S --nosummary -p: --pid: --cgroupmap: --mntnsmap: -4 --ipv4 -6 --ipv6 -r: --rows: -s: --sort: -c:",
	"vfscount":       "N",
	"vfsstat":        "N N",
	"wakeuptime":     "N -p: -u --useronly -v --verbose -f --folded --stack-storage-size: -m: --min-block-time: -M: --max-block-time:",
}

// sameMeaning are options of every script that mean what bcc's tools mean by the same letter.
var sameMeaning = map[string]bool{"-p:": true, "-t:": true, "-i:": true, "-v": true, "--duration:": true,
	"--interval:": true, "--verbose": true}

// Each option of a namesake is an option of the script, or it is answered with what to use; none has
// another meaning without a word.
func TestOptionsOfNamesakes(t *testing.T) {
	a := &app{}
	host, _, err := a.newHost()
	if err != nil {
		t.Fatal(err)
	}
	answered, same := 0, 0
	for name, words := range namesakeOptions {
		file, err := find(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, err := host.Load(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fs, numbers := newFlags(m.Options), 0
		if m.Options != nil {
			for i := range m.Options.Options {
				if m.Options.Options[i].Argument {
					numbers++
				}
			}
		}
		for _, word := range strings.Fields(words) {
			if word == "N" {
				if numbers--; numbers < 0 {
					t.Errorf("%s: takes no number as an argument", name)
				}
				continue
			}
			spelling, takes := strings.CutSuffix(word, ":")
			long := strings.ReplaceAll(strings.TrimPrefix(spelling, "--"), "_", "-")
			i := slices.IndexFunc(fs.list, func(f *flag) bool {
				return spelling == "-"+f.short || strings.HasPrefix(spelling, "--") && f.name == long
			})
			switch {
			case i < 0 && strings.HasPrefix(spelling, "--"):
				// It is unknown, and an error says so.
			case i < 0:
				t.Errorf("%s: %s: unknown", name, word)
			case fs.list[i].instead != "":
				answered++
			case !takes && fs.list[i].metavar != "" && fs.list[i].common() &&
				strings.HasPrefix(spelling, "--"):
				// It needs a value, and an error says so.
			case takes != (fs.list[i].metavar != ""):
				t.Errorf("%s: %s: --%s takes %q", name, word, fs.list[i].name, fs.list[i].metavar)
			case fs.list[i].common() && !fs.list[i].own && !sameMeaning[word]:
				t.Errorf("%s: %s: means --%s", name, word, fs.list[i].name)
			default:
				same++
			}
		}
	}
	t.Logf("%d tools: %d options are the same, %d are answered", len(namesakeOptions), same, answered)
}
