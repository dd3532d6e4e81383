package cgroup

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// This file finds the directories of cgroups that users name by their paths.

// Dirs returns the directories that names and patterns match, each once, and
// the root of their hierarchy, which is the one of perf_event.
func Dirs(names []string) (root string, dirs []string, err error) {
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		return "", nil, err
	}
	if root = mounts.PerfCgroup(); root == "" {
		return "", nil, diag.Errorf(diag.Attach, "attach", "cgroups",
			"no hierarchy with perf_event is mounted").
			WithHint("mount one with: mount -t cgroup2 none /sys/fs/cgroup")
	}
	for _, name := range names {
		some, err := find(root, name)
		if err != nil {
			return root, nil, err
		}
		for _, dir := range some {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return root, dirs, nil
}

// Threads lists the threads that are now in the cgroups and in all cgroups
// below them.
func Threads(names []string) (tids []int, err error) {
	_, dirs, err := Dirs(names)
	for _, dir := range dirs {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil // removed during the walk
			}
			text, err := os.ReadFile(filepath.Join(path, "cgroup.threads"))
			if err != nil { // version 1
				text, _ = os.ReadFile(filepath.Join(path, "tasks"))
			}
			for _, word := range strings.Fields(string(text)) {
				if tid, err := strconv.Atoi(word); err == nil {
					tids = append(tids, tid)
				}
			}
			return nil
		})
	}
	return tids, err
}

// find returns the directories below root that name matches. A name with a
// character of special is a POSIX basic regular expression, which may match
// anywhere in the path; any other name is a path.
func find(root, name string) ([]string, error) {
	none := func() error {
		return diag.Errorf(diag.Attach, "attach", "cgroup "+name, "no such cgroup below %s%s", root,
			diag.DidYouMean(name, pathsBelow(root))).WithHint("list them with: find %s -type d", root)
	}
	if !strings.ContainsAny(name, special) {
		dir := filepath.Join(root, filepath.Clean("/"+name))
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return nil, none()
		}
		return []string{dir}, nil
	}
	re, err := regexp.Compile(basicToGo(name))
	if err != nil {
		return nil, diag.Errorf(diag.Usage, "attach", "cgroup "+name, "not a regular expression: %v", err).
			WithHint("write for example 'docker/.*' or 'system.slice'")
	}
	var dirs []string
	for _, n := range pathsBelow(root) {
		if re.MatchString(n) {
			dirs = append(dirs, filepath.Join(root, n))
		}
	}
	if len(dirs) == 0 {
		return nil, none()
	}
	return dirs, nil
}

// special are the characters that make a name a pattern.
const special = "{}[]()|*+?^$"

// Pattern returns the name that matches exactly one path in Dirs.
func Pattern(path string) string {
	if !strings.ContainsAny(path, special) {
		return path
	}
	var b strings.Builder
	for _, c := range []byte(strings.TrimPrefix(path, "/")) {
		if strings.IndexByte(`[]*^$.\`, c) >= 0 { // characters with a meaning in basic expressions
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return "^" + b.String() + "$"
}

// pathsBelow are the paths of all cgroups below root, without root itself.
func pathsBelow(root string) []string {
	var names []string
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed during the walk
		}
		if d.IsDir() && path != root {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return nil
	})
	return names
}

// basicToGo rewrites a POSIX basic regular expression: there \( \) \{ \} \| \+
// \? are operators and the bare characters are not, and * is literal where
// there is nothing to repeat.
func basicToGo(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			if strings.IndexByte("(){}|+?", s[i]) >= 0 {
				b.WriteByte(s[i])
			} else {
				b.WriteString(regexp.QuoteMeta(s[i : i+1]))
			}
		case c == '[':
			end := bracketEnd(s[i:])
			b.WriteString(s[i : i+end])
			i += end - 1
		case strings.IndexByte("(){}|+?", c) >= 0:
			fmt.Fprintf(&b, "\\%c", c)
		case c == '*' && (i == 0 || s[i-1] == '^'):
			b.WriteString(`\*`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// bracketEnd is the length of the bracket expression that s starts with; a
// ']' right after the opening or its '^' is a member.
func bracketEnd(s string) int {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		if s[i] == ']' {
			return i + 1
		}
	}
	return len(s)
}
