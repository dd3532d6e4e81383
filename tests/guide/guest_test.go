package guide

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
	"ppscript/tests/vm"
)

// These commands need features that this machine lacks: kprobes, KVM's events,
// addresses of the kernel's data.
func TestCommandsOfTheGuideInAGuest(t *testing.T) {
	list, err := readCommands("commands.txt")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"/w/ppscript": testkit.PPScript(t), "/w/minikvm": testkit.Build(t, "tests/vm/minikvm"),
	}
	var script strings.Builder
	script.WriteString(
		"while :; do minikvm -mix 2000 >/dev/null; done & \nloop=$!\nADDR=0x$(awk '$3 == \"panic_timeout\" {print $1; exit}' /proc/kallsyms)\necho ADDR $ADDR\n")
	env := &environment{values: strings.NewReplacer()}
	for _, c := range list {
		if c.guest {
			args := strings.NewReplacer("$CPUS", "0", `"$ADDR/4:rw -g"`, `"'$ADDR'/4:rw -g"`).
				Replace(c.bounded())
			args = strings.ReplaceAll(args, "-p $PID", "-C 0") // each guest is a new process
			machine := strings.Contains(args, "$VM")
			if machine { // other virtual machines would only slow it down
				script.WriteString(
					"kill -STOP $loop; minikvm -clock 100000000 >/dev/null & VM=$!; until grep -q vcpu /proc/$VM/task/*/comm; do sleep 0.1; done\n")
			}
			fmt.Fprintf(&script, "echo\necho BEGIN %d\ntimeout 60 ppscript %s\nx=$?\necho\necho EXIT $x\n",
				c.line, args)
			if machine {
				script.WriteString("kill $VM; kill -CONT $loop\n")
			}
		}
	}
	script.WriteString("kill $loop; exit 0\n")
	r := vm.Run(t, vm.Guest{Modules: []string{"kvm_amd"}, Files: files, Timeout: 5 * time.Minute},
		script.String())
	text := string(r.Output)
	addr := regexp.MustCompile(`ADDR (0x[0-9a-f]+)`).FindStringSubmatch(text)
	if addr == nil {
		t.Fatal("the guest does not tell where its data is")
	}
	env.values = strings.NewReplacer("$ADDR", addr[1])
	for _, c := range list {
		if !c.guest {
			continue
		}
		t.Run(strconv.Itoa(c.line), func(t *testing.T) {
			_, part, _ := strings.Cut(text, fmt.Sprintf("BEGIN %d\n", c.line))
			part, rest, _ := strings.Cut(part, "EXIT ")
			status, _, _ := strings.Cut(rest, "\n")
			exit, err := strconv.Atoi(strings.TrimSpace(status))
			if err != nil {
				t.Fatalf("commands.txt:%d: no exit status: %q", c.line, status)
			}
			c.verify(t, testkit.Output{Stdout: part, Exit: exit}, env)
		})
	}
}
