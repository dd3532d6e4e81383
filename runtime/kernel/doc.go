// Package kernel holds the facts of the kernel that ppscript runs on: its
// version, CPUs, limits, privileges and features, and Doctor, which says what
// is missing and which command fixes it.
//
// runtime/perf asks it for CPU lists, plan and session for what is possible,
// cmd/ppscript for `doctor`. It reads files and makes a few probing system
// calls when asked, keeps nothing between calls, and knows neither events nor
// scripts.
//
// Every reader takes Roots, so that a test can give it a directory of
// fixtures; the zero Roots is the running machine.
package kernel
