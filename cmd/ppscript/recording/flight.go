package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/text/unit"
)

// A Flight is a flight recorder: it keeps the newest events in rings in which new
// records overwrite the oldest. On each request it writes the events of the last
// seconds to a new file: FILE.1, FILE.2 and so on.
type Flight struct {
	Source *perf.Source // with perf.Config.Overwrite
	Options
	Window time.Duration // how far back samples are written; the rings may hold less
	Most   int           // number of files to keep; older ones are removed
	Say    func(string)

	requests chan string
	number   int   // number of the last file name that was tried
	numbers  []int // numbers of the files that are kept
	files    int
	lost     uint64
}

// Begin must be called before the first Ask.
func (f *Flight) Begin() { f.requests = make(chan string, 1) }

// Ask requests a file; why is the reason, for the message to the user. Any goroutine
// may call it. Requests that arrive before the file is written share it.
func (f *Flight) Ask(why string) {
	select {
	case f.requests <- why:
		f.Source.Wake()
	default:
	}
}

// Loop writes requested files until the target or ctx ends. Then it calls settle; requests made
// before settle returns still get a file.
func (f *Flight) Loop(ctx context.Context, settle func() error) error {
	for {
		err := f.Source.Poll(ctx, time.Minute)
		over := errors.Is(err, io.EOF) || ctx.Err() != nil
		if err != nil && !over {
			return err
		}
		if over {
			if err := settle(); err != nil {
				return err
			}
		}
		select {
		case why := <-f.requests:
			if err := f.write(context.WithoutCancel(ctx), why); err != nil {
				return err
			}
		default:
		}
		if over {
			return nil
		}
	}
}

// path returns the path of file n.
func (f *Flight) path(n int) string { return fmt.Sprintf("%s.%d", f.Path, n) }

// write writes the next file with the current content of the rings.
func (f *Flight) write(ctx context.Context, why string) error {
	now, _, known := perf.ReadClock(ctx, f.Clock)
	return f.Source.Snapshot(func(wrapped []bool) (err error) {
		r, err := f.next(ctx)
		if err != nil {
			f.Say(fmt.Sprintf("%s: nothing was written: %v", why, err))
			return nil
		}
		if known {
			r.since = now - event.Time(f.Window)
		}
		r.firsts = make([]event.Time, len(wrapped))
		if err = r.round(); err == nil {
			_, err = r.Identify()
		}
		if err = r.Finish(err); err != nil {
			return err
		}
		f.files++
		f.lost += r.lost
		f.Say(fmt.Sprintf("%s: %s%s", r.counts(), why, r.reach(now, wrapped)))
		if f.numbers = append(f.numbers, f.number); len(f.numbers) > f.Most {
			old := f.path(f.numbers[0])
			f.numbers = f.numbers[1:]
			if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

// mostTaken bounds the file names that are tried for one file. A name can be taken by another user
// in a directory that both can write to.
const mostTaken = 100

// next creates the next file whose name is not taken by another user.
func (f *Flight) next(ctx context.Context) (r *Recording, err error) {
	opt := f.Options
	for range mostTaken {
		f.number++
		opt.Path = f.path(f.number)
		if r, err = New(ctx, f.Source, opt); !errors.Is(err, fs.ErrPermission) {
			return r, err
		}
	}
	return nil, err
}

// reach returns a text for the user if the file does not cover the whole window,
// because a ring has overwritten records, or if events were lost.
func (r *Recording) reach(now event.Time, wrapped []bool) (text string) {
	var from event.Time
	for i, first := range r.firsts {
		if i < len(wrapped) && wrapped[i] {
			from = max(from, first)
		}
	}
	if from > r.since && from > 0 {
		text = fmt.Sprintf("; complete since %s before: what is older was overwritten, "+
			"larger rings keep more: -m %d", unit.Duration(max(0, int64(now-from))), 4*r.pages())
	}
	if r.lost > 0 {
		text += fmt.Sprintf("; lost %d events", r.lost)
	}
	return text
}

// pages returns the size of the largest ring in pages of 4 KiB.
func (r *Recording) pages() int {
	most := 0
	for _, ring := range r.src.Stats().Rings {
		most = max(most, ring.SizeBytes)
	}
	return most >> 12
}

// Files returns the number of files that were written.
func (f *Flight) Files() int { return f.files }

// Lost returns the number of events that are missing in these files.
func (f *Flight) Lost() uint64 { return f.lost }
