package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file finds the binaries of the tracers with which ppscript is compared:
// the installed ones, or the binaries that the environment names.

// A peer is a binary of a tracer.
type peer struct{ label, path string }

// peersOf returns the binaries of a program to measure: the installed one, or
// those in a list of paths. In the list, the program's own name means the
// installed one, and each binary is labelled with its version.
func peersOf(program, list string, version func(path string) string) []peer {
	if list == "" {
		return []peer{{program, program}}
	}
	var peers []peer
	for _, path := range filepath.SplitList(list) {
		p := peer{program, path}
		if v := version(path); v != "" {
			p.label += " " + v
		}
		if slices.ContainsFunc(peers, func(other peer) bool { return other.label == p.label }) {
			p.label = program + " " + path
		}
		peers = append(peers, p)
	}
	return peers
}

// measured replaces each job of a program by one job for each of its binaries.
func measured(jobs []*job, program string, peers []peer) []*job {
	var all []*job
	for _, j := range jobs {
		if j.args[0] != program {
			all = append(all, j)
			continue
		}
		for _, p := range peers {
			one := *j
			one.name = strings.Replace(j.name, program, p.label, 1)
			one.args = append([]string{p.path}, j.args[1:]...)
			all = append(all, &one)
		}
	}
	return all
}

// versionOf returns the version that a tracer prints, "" if it prints none.
func versionOf(path string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return ""
	}
	// "bpftrace v0.17.0", "perf-prof version 1.9": the number is the last word.
	return words[len(words)-1]
}
