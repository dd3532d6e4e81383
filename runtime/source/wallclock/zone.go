package wallclock

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ppscript/runtime/text/diag"
)

// This file reads rules in TZ, as CET-1CEST,M3.5.0,M10.5.0/3, which POSIX defines beside the names of files.
// Go's package time looks only for a file, and takes UTC where there is none. But files that it reads end
// with such a rule, for the times behind their last change: a file that has nothing else is made here.

// LocalZone is the zone of local times: by the rule in tz, the value of the variable TZ, where now, which Go
// found, is UTC although tz names something else. Where tz is no rule either, the error says so.
func LocalZone(tz string, now *time.Location) (*time.Location, error) {
	rule := strings.TrimPrefix(tz, ":")
	if rule == "" || rule == "UTC" {
		return now, nil
	}
	if !plainZone(rule) { // package time would wait for ever for the writer of a pipe
		return time.UTC, diag.Errorf(diag.Run, "read TZ", tz,
			"not a regular file: local times are those of UTC").
			WithHint("give a name, TZ=Europe/Berlin, or a rule, TZ=CET-1CEST,M3.5.0,M10.5.0/3")
	}
	if now.String() != "UTC" {
		return now, nil
	}
	if zone, ok := zoneOf(rule); ok {
		return zone, nil
	}
	return now, diag.Errorf(diag.Run, "read TZ", tz,
		"no file of zones has this name, and it is no rule: local times are those of UTC").
		WithHint("give a name, TZ=Europe/Berlin, or a rule, TZ=CET-1CEST,M3.5.0,M10.5.0/3")
}

// zoneDirs are where package time looks for files of zones.
var zoneDirs = []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ",
	"/etc/zoneinfo"}

// plainZone reports that package time opens no other than regular files for a name, if there are any.
func plainZone(name string) bool {
	files := []string{name}
	if !filepath.IsAbs(name) {
		files = nil
		for _, dir := range zoneDirs {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, file := range files {
		if st, err := os.Stat(file); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
			return false
		}
	}
	return true
}

// zoneOf is the zone of a rule; false if it is none.
func zoneOf(rule string) (*time.Location, bool) {
	const noRule = "-" // the only zone of the file, which holds where the rule is none
	// Layout: tzfile(5). Two headers, since version 2 has its numbers in 64 bits behind those in 32 bits.
	part := append([]byte("TZif2"), make([]byte, 15)...)
	for _, count := range []uint32{0, 0, 0, 0, 1, uint32(len(noRule) + 1)} { // zones and their names
		part = binary.BigEndian.AppendUint32(part, count)
	}
	part = append(part, 0, 0, 0, 0, 0, 0) // offset, daylight saving, index of the name
	part = append(part, noRule+"\x00"...)
	file := append(part[:len(part):len(part)], part...)
	zone, err := time.LoadLocationFromTZData(rule, append(file, "\n"+rule+"\n"...))
	if err != nil {
		return nil, false
	}
	name, _ := time.Unix(0, 0).In(zone).Zone()
	return zone, name != noRule
}
