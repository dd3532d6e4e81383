package whyfacts

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"ppscript/runtime/system/kernel"
)

// A process that sleeps is found in its call; this one, which asks, does not sleep; one that has ended is
// not found.
func TestStanding(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Skip(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	tid := int32(sleep.Process.Pid)
	for range 1000 {
		s, ok := standing(tid)
		if name := kernel.SyscallName("amd64", s.Call); ok && s.Asleep && name == "clock_nanosleep" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	first, ok := standing(tid)
	if !ok || !first.Asleep || first.Switches == 0 {
		t.Errorf("got %+v, %v, want one that sleeps", first, ok)
	}
	if second, ok := standing(tid); !ok || second != first {
		t.Errorf("got %+v, then %+v", first, second)
	}
	if s, ok := standing(int32(os.Getpid())); ok && s.Call >= 0 && s.Switches == 0 {
		t.Errorf("of myself: got %+v", s)
	}
	if _, ok := standing(1 << 30); ok {
		t.Error("got a thread that is not there")
	}
}
