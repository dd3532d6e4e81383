package fleet

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A starter is a thread that starts processes. They end with the thread that started them if the agent
// is killed (PR_SET_PDEATHSIG), and threads of Go end now and then, so that it takes one that stays.
type starter chan func()

// newStarter makes one; close ends it.
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

// release is the kernel's version, as uname tells it.
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
