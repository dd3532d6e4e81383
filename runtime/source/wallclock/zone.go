package wallclock

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ppscript/runtime/text/diag"
)

// This file parses rules in the variable TZ, such as CET-1CEST,M3.5.0,M10.5.0/3. POSIX allows them
// in place of the name of a file. Go's package time looks only for a file, and uses UTC if there is
// none. But its files end with such a rule, for the time after their last change. So a file with
// nothing but the rule is made here.

// LocalZone returns the zone of local times. tz is the value of the variable TZ, and now the zone
// that Go found. If now is UTC although tz names something else, tz is parsed as a rule. It is an
// error if tz is no rule either.
func LocalZone(tz string, now *time.Location) (*time.Location, error) {
	rule := strings.TrimPrefix(tz, ":")
	if rule == "" || rule == "UTC" {
		return now, nil
	}
	if !plainZone(rule) { // for the name of a pipe, package time would wait for a writer without end
		return time.UTC, diag.Errorf(diag.Run, "read TZ", tz,
			"not a regular file: local times are in UTC").
			WithHint("give a name, TZ=Europe/Berlin, or a rule, TZ=CET-1CEST,M3.5.0,M10.5.0/3")
	}
	if now.String() != "UTC" {
		return now, nil
	}
	if zone, ok := zoneOf(rule); ok {
		return zone, nil
	}
	return now, diag.Errorf(diag.Run, "read TZ", tz,
		"no file of zones has this name, and it is no rule: local times are in UTC").
		WithHint("give a name, TZ=Europe/Berlin, or a rule, TZ=CET-1CEST,M3.5.0,M10.5.0/3")
}

// zoneDirs are the directories in which package time looks for files of zones.
var zoneDirs = []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ",
	"/etc/zoneinfo"}

// plainZone reports that all files that package time may open for a name are regular files.
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

// zoneOf returns the zone of a rule; false if the text is no rule.
func zoneOf(rule string) (*time.Location, bool) {
	const noRule = "-" // the only zone of the file, used if the rule is invalid
	// Layout: tzfile(5). Two headers, since version 2 has a part with 64-bit numbers after the part
	// with 32-bit numbers.
	part := append([]byte("TZif2"), make([]byte, 15)...)
	for _, count := range []uint32{0, 0, 0, 0, 1, uint32(len(noRule) + 1)} { // zones; bytes of their names
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
