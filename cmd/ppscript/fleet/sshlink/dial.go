package sshlink

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// A Dialer connects with hosts.
type Dialer struct {
	Config   string   // a file of ssh's settings; "" are the user's
	Options  []string // NAME=VALUE of ssh
	Programs []string // files with the program for hosts of other architectures
	Keep     bool     // copies stay there, and are used again
	Sudo     bool     // they are started by sudo
	AtOnce   int      // how many are connected at a time, and copied to

	programs map[string]*program // by machine
	own      string              // this machine
}

// A Failure is a host that could not be reached, or runs no copy, and why.
type Failure struct {
	Host Host
	Err  error
}

// Dial connects with all hosts, and starts a copy of the program on each; both lists are in order of names.
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
		_ = l.Close() // the reason is known
		return nil, cmp.Or(ctx.Err(), err)
	}
	return l, nil
}
