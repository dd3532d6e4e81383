package fleet

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A starter is a thread that starts processes. PR_SET_PDEATHSIG ends a process when the thread that
// started it ends, which is wanted if the agent is killed. But threads of Go's runtime can end at
// any time, so processes are started on a locked thread.
type starter chan func()

// newStarter starts the thread. close of the channel ends it.
func newStarter() starter {
	s := make(starter)
	go func() {
		runtime.LockOSThread()
		for f := range s {
			f()
		}
	}()
	return s
}

func (s starter) start(cmd *exec.Cmd) error {
	result := make(chan error)
	s <- func() { result <- cmd.Start() }
	return <-result
}

// release returns the kernel's version from uname.
func release() string {
	var u syscall.Utsname
	if syscall.Uname(&u) != nil {
		return ""
	}
	var b []byte
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}
