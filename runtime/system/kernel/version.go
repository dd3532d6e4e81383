package kernel

import (
	"cmp"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Version is a kernel's version. Distributions keep the third number at 0 and
// backport features, so a version is only a hint for messages; a probe
// decides.
type Version struct {
	Major, Minor, Patch int
	Release             string // as uname -r prints it: "6.1.0-50-cloud-amd64"
}

// ReadVersion reads the running kernel's version.
func ReadVersion(r Roots) (Version, error) {
	release, err := Sysctl(r, "kernel.osrelease")
	if err != nil {
		return Version{}, fmt.Errorf("read kernel version: %w", err)
	}
	return ParseVersion(release)
}

// release is the version text from uname(2), for machines without proc.
func release() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}

// ParseVersion reads the output of uname -r. A missing third number is 0; the
// text after the numbers is only in Release.
func ParseVersion(release string) (Version, error) {
	v := Version{Release: release}
	rest, ok := number(release, &v.Major)
	if ok && strings.HasPrefix(rest, ".") {
		rest, ok = number(rest[1:], &v.Minor)
	} else {
		ok = false
	}
	if !ok {
		return Version{}, fmt.Errorf("parse kernel version %q: got no MAJOR.MINOR", release)
	}
	if strings.HasPrefix(rest, ".") {
		number(rest[1:], &v.Patch)
	}
	return v, nil
}

// number reads the digits at the start of s into n, at most six of them.
func number(s string, n *int) (rest string, ok bool) {
	i := 0
	for i < len(s) && i < 6 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	value := 0
	for _, c := range s[:i] {
		value = value*10 + int(c-'0')
	}
	*n = value
	return s[i:], i > 0
}

// Compare is negative if v is older than w, positive if it is newer; Release
// does not count.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// AtLeast reports whether v is major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Compare(Version{Major: major, Minor: minor}) >= 0
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }
