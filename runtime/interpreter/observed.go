package interpreter

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"ppscript/runtime/perf"
	"ppscript/runtime/privilege"
)

// This file tells before anything is opened whether an interpreter will be observed.

// Observed reports that the target is Python's: the command that is observed, or one of the processes.
func Observed(t *perf.Target) bool {
	if t.Workload != nil && len(t.Workload.Args) > 0 && ofCommand(t.Workload.Args[0]) {
		return true
	}
	return slices.ContainsFunc(t.PIDs, ofProcess) || slices.ContainsFunc(t.TIDs, ofProcess)
}

// ofCommand follows a command to its file: a program, or a script that names one.
func ofCommand(name string) bool {
	path, err := exec.LookPath(name)
	if err != nil {
		return false
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return false
	}
	if _, ok := minorOf(path); ok {
		return true
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var begin [128]byte
	n, _ := f.ReadAt(begin[:], 0)
	line, _, _ := bytes.Cut(begin[:n], []byte("\n"))
	return bytes.HasPrefix(line, []byte("#!")) && bytes.Contains(line, []byte("python"))
}

// ofProcess reports that a process has mapped an interpreter.
func ofProcess(pid int) bool {
	path := filepath.Join("/proc", strconv.Itoa(pid), "maps")
	text, err := privilege.ReadFile(privilege.Processes, path)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if i := bytes.IndexByte(line, '/'); i >= 0 && bytes.Contains(line[:i], []byte(" r-xp ")) {
			if _, ok := minorOf(string(bytes.TrimSuffix(line[i:], []byte("\n")))); ok {
				return true
			}
		}
	}
	return false
}
