package task

import (
	"bytes"
	"os"
	"strconv"
)

// ProcessOf is the process of a thread of this machine; -1 if it has ended.
func ProcessOf(tid int32) int32 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/status")
	_, text, ok := bytes.Cut(text, []byte("\nTgid:\t"))
	line, _, _ := bytes.Cut(text, []byte("\n"))
	pid, perr := strconv.Atoi(string(line))
	if err != nil || !ok || perr != nil {
		return -1
	}
	return int32(pid)
}

// Flags of threads: must match PF_IO_WORKER, PF_USER_WORKER and PF_KTHREAD of include/linux/sched.h.
const ofKernel = 0x10 | 0x4000 | 0x200000

// OfKernel reports whether a thread of this machine is a kernel thread; known is false if it has
// ended.
func OfKernel(tid int32) (is, known bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/stat")
	i := bytes.LastIndexByte(text, ')') // the name before it can contain any character
	if err != nil || i < 0 {
		return false, false
	}
	fields := bytes.Fields(text[i+1:])
	if len(fields) < 7 {
		return false, false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return flags&ofKernel != 0, err == nil
}
