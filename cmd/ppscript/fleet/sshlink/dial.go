package sshlink

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// A Dialer connects to hosts by ssh, with the user's options.
type Dialer struct {
	Config   string   // ssh's configuration file; "": the user's
	Options  []string // NAME=VALUE for ssh -o
	Programs []string // executables of ppscript for hosts of other architectures
	Keep     bool     // leave copies on the hosts, to be used again
	Sudo     bool     // start copies by sudo
	AtOnce   int      // number of hosts to connect and copy to at a time

	programs map[string]*program // by the machine name of uname
	own      string              // this machine's name of uname
}

// A Failure is a host that could not be reached or could not run a copy, with
// the error.
type Failure struct {
	Host Host
	Err  error
}

// Dial connects to all hosts, and starts a copy of the program on each. Both lists are sorted by
// name.
func (d *Dialer) Dial(ctx context.Context, hosts []Host) (links []*Link, failed []Failure, err error) {
	d.programs = map[string]*program{}
	for _, path := range append([]string{"/proc/self/exe"}, d.Programs...) {
		machine, p, err := readProgram(path)
		if err != nil {
			return nil, nil, err
		}
		if d.own == "" {
			d.own = machine
		}
		d.programs[machine] = p
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	turn := make(chan struct{}, max(d.AtOnce, 1))
	for _, h := range hosts {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			l, err := d.dial(ctx, h)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, Failure{h, err})
				return
			}
			links = append(links, l)
		})
	}
	all.Wait()
	slices.SortFunc(links, func(a, b *Link) int { return strings.Compare(a.Host.Name, b.Host.Name) })
	slices.SortFunc(failed, func(a, b Failure) int { return strings.Compare(a.Host.Name, b.Host.Name) })
	return links, failed, nil
}

func (d *Dialer) dial(ctx context.Context, h Host) (*Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := d.start(h)
	if err != nil {
		return nil, err
	}
	if err := d.prepare(ctx, l); err != nil {
		_ = l.Close() // err is the reason
		return nil, cmp.Or(ctx.Err(), err)
	}
	return l, nil
}
