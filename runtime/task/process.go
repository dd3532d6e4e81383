package task

import (
	"bytes"
	"os"
	"strconv"
)

// ProcessOf is the process of a thread that runs here; -1 if it has ended.
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
