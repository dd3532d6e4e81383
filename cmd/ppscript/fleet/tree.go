package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// This file is the way that frames of many hosts take: not to the asker, but to mergers, which put those of
// a part of the hosts together, on one level or on several. No node then sees all rows.
//
// A job's hosts are divided into parts, by their names. Each part of each level of a job has a slot, one of
// slots in all, and each slot a subject at which mergers listen in one queue group: mostly one of them. So
// the frames of a part come to one merger; and while mergers come and go, each frame still comes to one.
//
// What makes this exact is that an agent keeps a frame until the asker has said, up and down the tree, that
// he has counted it. A merger that dies takes nothing with it: its agents send their frames again, past the
// mergers. And each frame of several hosts says whose frames are in it, by number, so that the asker refuses
// one that has a frame he has counted before. The merger then puts the others together anew.

// A Tree says how frames of a job are put together on their way.
type Tree struct {
	// Parts are into how many parts the hosts are divided on each level of mergers, the lowest first.
	Parts []int `json:"parts"`
	// Apart has mergers pass on the frame of each host, since the asker wants to know hosts apart.
	Apart bool `json:"apart,omitempty"`
}

const (
	leastHosts = 50  // with fewer the asker takes the frames himself
	partHosts  = 250 // that a merger of the lowest level puts together
	partFrames = 16  // of mergers that one above them puts together
	slots      = 256 // subjects, which mergers share out among themselves
	mostLevels = 4
	mostParts  = 1 << 20
)

// parts are into how many parts so many hosts are divided, on each level; none if there are few.
func parts(hosts int) (list []int) {
	if hosts < leastHosts {
		return nil
	}
	list = []int{(hosts + partHosts - 1) / partHosts}
	for n := list[0]; n > partFrames && len(list) < mostLevels; list = append(list, n) {
		n = (n + partFrames - 1) / partFrames
	}
	return list
}

// A route is where a frame is on its way: at a part, with so many parts on each level above.
type route struct {
	job   string
	part  int
	up    []int
	apart bool
	whole bool // the job has one window, which ends when it does
}

// route is the first one of a host's frames.
func (j *Job) route(host string) (route, bool) {
	if j.Tree == nil || len(j.Tree.Parts) == 0 || j.Tree.Parts[0] < 1 {
		return route{}, false
	}
	r := route{job: j.ID, up: j.Tree.Parts[1:], apart: j.Tree.Apart, whole: j.Interval == 0}
	r.part = int(number(host) % uint64(j.Tree.Parts[0]))
	return r, r.valid() == nil
}

// number is one that a text has anywhere.
func number(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.LittleEndian.Uint64(sum[:])
}

// next is the route on the level above, if there is one.
func (r *route) next() (route, bool) {
	if len(r.up) == 0 {
		return route{}, false
	}
	up := *r
	up.part, up.up = r.part%r.up[0], r.up[1:]
	return up, true
}

// subject is where the mergers of the part listen: to hosts at mergeSubject, to mergers below at sumsSubject.
func (r *route) subject(of string) string {
	slot := number(fmt.Sprint(r.job, "/", len(r.up), "/", r.part)) % slots
	return of + strconv.FormatUint(slot, 10) + "." + r.job
}

// header is the route as messages have it.
func (r *route) header() string {
	words := []string{strconv.Itoa(r.part)}
	for _, n := range r.up {
		words = append(words, strconv.Itoa(n))
	}
	text := strings.Join(words, "/")
	if r.apart {
		text += " apart"
	}
	if r.whole {
		text += " whole"
	}
	return text
}

// partsText is the header of a frame at the lowest of such levels.
func partsText(parts []int) string {
	r := route{}
	if len(parts) > 0 {
		r.part, r.up = parts[0], parts[1:]
	}
	return r.header()
}

var errRoute = errors.New("that is no way to the asker")

// parseRoute reads what header wrote, or anybody else.
func parseRoute(job, header string) (r route, err error) {
	r.job = job
	words := strings.Fields(header)
	if len(words) == 0 || job != "" && !jobID.MatchString(job) || len(header) > mostName {
		return r, errRoute
	}
	for i, text := range strings.Split(words[0], "/") {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return r, errRoute
		case i == 0:
			r.part = n
		default:
			r.up = append(r.up, n)
		}
	}
	for _, word := range words[1:] {
		r.apart, r.whole = r.apart || word == "apart", r.whole || word == "whole"
	}
	return r, r.valid()
}

func (r *route) valid() error {
	if len(r.up) >= mostLevels || r.part < 0 || r.part > mostParts {
		return errRoute
	}
	for _, n := range r.up {
		if n < 1 || n > mostParts {
			return errRoute
		}
	}
	return nil
}

// A FrameID is a frame of a host.
type FrameID struct {
	Host string `json:"host"`
	Seq  uint64 `json:"seq"`
}

// FrameAnswer answers a frame of several hosts.
type FrameAnswer struct {
	// Without are frames that were counted before, or whose host was not asked. If there are any, nothing
	// of the frame was taken: it is wanted again without them.
	Without []FrameID `json:"without,omitempty"`
	// Busy says that the frame was not taken: it shall go to the asker.
	Busy bool `json:"busy,omitempty"`
}
