package vm

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/tests/engines"
	"ppscript/tests/testkit"
)

// Scripts about guests show the same in both engines for exits of a nested
// guest: each runs in both at the same time.
func TestEnginesAgreeOnKVM(t *testing.T) {
	t.Parallel()
	for _, kernel := range []string{"", "6.18"} {
		t.Run("kernel"+kernel, func(t *testing.T) { enginesAgreeOnKVM(t, kernel) })
	}
}

// enginesAgreeOnKVM makes the comparisons that need a series of kernels.
func enginesAgreeOnKVM(t *testing.T, kernel string) {
	t.Helper()
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	var list []*engines.Comparison
	var script strings.Builder
	script.WriteString(besideScript)
	for _, scene := range []struct{ name, words string }{
		{"kvm", "minikvm -mix 40"},
		// This uses the older page tables, because the faster ones have no such
		// events.
		{"kvmmmu", "echo N >/sys/module/kvm/parameters/tdp_mmu; minikvm -mix 40"},
	} {
		if kernel != "" && scene.name != "kvm" {
			continue
		}
		fmt.Fprintf(&script, "begin '%s'\n", scene.words)
		for i := range engines.Comparisons {
			c := &engines.Comparisons[i]
			if c.Scene != scene.name || c.Kernel != kernel {
				continue
			}
			list = append(list, c)
			if strings.HasSuffix(c.Script, ".star") {
				files["/w/"+c.Script] = filepath.Join("../..", c.Script)
			}
			for _, engine := range []string{"bpf", "perf"} {
				line := "trace " + strings.Join(c.Command(map[string]string{"dir": "/w", "engine": engine}),
					" ") + " --engine " + engine
				if c.ByThread {
					line += " -p $pid"
				}
				script.WriteString(line + "\n")
			}
		}
		script.WriteString("show\n")
	}
	// An emulated guest sometimes stands still after one engine has read the
	// clock and before the other does.
	guest := kvmGuest(t, files)
	guest.Kernel = kernel
	if kernel != "" {
		// From 6.17 on the kernel measures idle memory. This has crashed emulated
		// guests, and no test needs it.
		guest.Append += " damon_stat.enabled=N"
	}
	testkit.Again(t, func() (wrong []string) {
		r := Run(t, guest, script.String())
		outputs := strings.Split(string(r.Output), "OUTPUT\n")[1:]
		if r.Status != 0 || len(outputs) != 2*len(list) {
			t.Fatalf("got status %d and %d outputs, want %d", r.Status, len(outputs), 2*len(list))
		}
		for i, c := range list {
			o := c.Compare(t, nil, outputs[2*i], outputs[2*i+1])
			if len(o.Wrong) > 0 || o.Rows == 0 {
				wrong = append(wrong, fmt.Sprintf("%s: %d rows, %d events were lost", c, o.Rows, o.Lost))
				wrong = append(wrong, o.Wrong...)
			}
		}
		return wrong
	})
}

// besideScript has functions for tracers that all observe one run of a program: it
// waits until they are attached.
const besideScript = `mkfifo go
begin() { sh -c "read x <go; $1" >said & pid=$!; n=0; tracers=; }
trace() { ppscript "$@" --format json -v >out.$n 2>err.$n & tracers="$tracers $!"; n=$((n+1)); }
show() {
	i=0
	while [ $i -lt $n ]; do
		until grep -q ' open event' err.$i; do
			if ! kill -0 $(echo $tracers | cut -d' ' -f$((i+1))) 2>/dev/null; then cat err.$i; exit 1; fi
			sleep 0.1
		done
		i=$((i+1))
	done
	echo >go
	wait $pid || exit 1
	kill -INT $tracers
	wait $tracers
	i=0
	while [ $i -lt $n ]; do echo; echo OUTPUT; cat out.$i; i=$((i+1)); done
}
`
