// Package kernel holds the facts of the kernel that ppscript runs on: its
// version, CPUs, limits, privileges and features, and Doctor, which lists
// missing features with the commands that fix them.
//
// runtime/source/perf uses it for CPU lists, plan and session for features,
// cmd/ppscript for `doctor`. It reads files and makes a few system calls as
// tests, keeps nothing between calls, and does not depend on events or scripts.
//
// Every reader takes Roots, so that a test can give it a directory of
// fixtures; the zero Roots is the running machine.
package kernel
