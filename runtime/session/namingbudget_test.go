package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ppscript/runtime/stack/dso"
)

// TestNamingBudget: files may be read for some time after the end was due, however it
// became due, and not for longer.
func TestNamingBudget(t *testing.T) {
	for _, end := range []string{"signal", "duration", "target"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			p := newNamingBudget(ctx, nil)
			time.Sleep(time.Hour)
			if p.expired() {
				t.Errorf("%s: expired before the end was due", end)
			}
			switch end {
			case "signal":
				stop()
			case "duration":
				p.due = time.Now()
			default:
				p.end()
			}
			p.expired()
			time.Sleep(graceTime - time.Second)
			if p.expired() {
				t.Errorf("%s: expired early", end)
			}
			time.Sleep(2 * time.Second)
			if !p.expired() {
				t.Errorf("%s: did not expire", end)
			}
		})
	}
}

// TestNotesOfFiles: of a few files it is said that they are too large, once of each.
func TestNotesOfFiles(t *testing.T) {
	var said []string
	p := newNamingBudget(t.Context(), func(s string) bool {
		if slices.Contains(said, s) {
			return false
		}
		said = append(said, s)
		return true
	})
	for i := range 2 * mostNotes {
		f := &dso.File{Path: "/bin/" + strings.Repeat("x", i+1)}
		p.note(f, &dso.TooLarge{Subject: "symbols", Bytes: 1 << 30, Most: 1 << 20})
		p.note(f, &dso.TooLarge{Subject: "symbols", Bytes: 1 << 30, Most: 1 << 20})
	}
	if len(said) != mostNotes || said[0] !=
		"symbols of /bin/x: symbols too large: got 1GiB, want at most 1MiB: some of its code has no names" {
		t.Errorf("got %q, want %d lines", said, mostNotes)
	}
	p.note(&dso.File{Path: "/y"}, errors.New("damaged"))
	if len(said) != mostNotes {
		t.Errorf("got %q", said[mostNotes:])
	}
}
