package wallclock

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLocalZone checks that rules in TZ are as in tzset(3).
func TestLocalZone(t *testing.T) {
	f := func(tz, utc, want string) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, utc)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := LocalZone(tz, time.UTC)
		if err != nil {
			t.Errorf("TZ=%s: got error %v", tz, err)
			return
		}
		if got := at.In(zone).Format("01-02 15:04:05 MST"); got != want {
			t.Errorf("TZ=%s at %s: got %s, want %s", tz, utc, got, want)
		}
	}
	// As `TZ=... date -d ...` says.
	const berlin = "CET-1CEST,M3.5.0,M10.5.0/3"
	f(berlin, "2026-01-15T12:00:00Z", "01-15 13:00:00 CET")
	f(berlin, "2026-03-29T00:59:59Z", "03-29 01:59:59 CET")
	f(berlin, "2026-03-29T01:00:00Z", "03-29 03:00:00 CEST")
	f(berlin, "2026-10-25T00:59:59Z", "10-25 02:59:59 CEST")
	f(berlin, "2026-10-25T01:00:00Z", "10-25 02:00:00 CET")
	f(":"+berlin, "1999-07-01T12:00:00Z", "07-01 14:00:00 CEST")
	f("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-15T12:00:00Z", "01-15 23:00:00 AEDT")
	f("EST5EDT", "2026-07-01T12:00:00Z", "07-01 08:00:00 EDT")
	f("<+0545>-5:45", "2026-07-01T12:00:00Z", "07-01 17:45:00 +0545")
	f("IST-5:30", "1960-07-01T12:00:00Z", "07-01 17:30:00 IST")
	f("XYZ3", "2026-07-01T12:00:00Z", "07-01 09:00:00 XYZ")
	for _, utc := range []string{"", ":", "UTC", ":UTC"} {
		f(utc, "2026-07-01T12:00:00Z", "07-01 12:00:00 UTC")
	}
	for _, bad := range []string{"Nowhere/Land", "Europe/Berlin", "CET", "CE-1", "/nowhere", "CET-1\nX",
		"CET-1CEST,", "CET-1CEST,M13.5.0,M10.5.0",
	} {
		if zone, err := LocalZone(bad, time.UTC); err == nil || zone != time.UTC {
			t.Errorf("TZ=%q: got %v and no error, want UTC and one", bad, zone)
		}
	}
	// A pipe is not read: its writer might never come. Package time, asked for time.Local, would.
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{pipe, ":" + pipe, "../../.." + pipe, "/dev/null"} {
		zone, err := LocalZone(bad, time.FixedZone(bad, 3600))
		if err == nil || !strings.Contains(err.Error(), "not a regular file") || zone != time.UTC {
			t.Errorf("TZ=%q: got %v, %v, want UTC and an error", bad, zone, err)
		}
	}
	// A zone that Go found stays.
	found := time.FixedZone("Europe/Berlin", 3600)
	if zone, err := LocalZone("CET-1CEST", found); err != nil || zone != found {
		t.Errorf("got %v, %v, want the zone that was found", zone, err)
	}
}
