package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// This file defines the way of frames if there are many hosts. Hosts send frames to mergers, not to
// the asker. A merger merges the frames of a part of the hosts. There can be several levels of
// mergers. So no node has to process the frames of all hosts.
//
// The hosts of a job are divided into parts by their names. Each part on each level has a slot: one
// of a fixed number of subjects. Mergers divide the slots among themselves, and listen at a subject
// in one queue group. So the frames of a part arrive at one merger; while mergers start and end,
// each single frame still arrives at only one.
//
// Results are exact because an agent keeps a frame until the asker has confirmed, through the tree,
// that the frame was counted. If a merger dies, nothing is lost: its agents send their frames
// again, directly to the asker. Each merged frame lists the hosts' frames in it by number, so that
// the asker can refuse one with a frame that was counted before. The merger then merges the others
// again.

// A Tree has the levels of mergers for a job.
type Tree struct {
	// Parts has the number of parts into which the hosts are divided on each level of mergers, the
	// lowest level first.
	Parts []int `json:"parts"`
	// Apart says that mergers pass the frames of hosts on without merging their results, because
	// the asker shows hosts separately.
	Apart bool `json:"apart,omitempty"`
}

const (
	leastHosts = 50  // with fewer hosts, frames go to the asker directly
	partHosts  = 250 // hosts for each part of the lowest level
	partFrames = 16  // parts for each part of the level above
	slots      = 256 // number of subjects that mergers divide among themselves
	mostLevels = 4
	mostParts  = 1 << 20
)

// parts returns the number of parts on each level for a number of hosts; nil if there are few
// hosts.
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

// A route is the position of a frame in the tree: its part on the current level, and the
// numbers of parts on the levels above.
type route struct {
	job   string
	part  int
	up    []int
	apart bool
	whole bool // the whole run of the job is one window
}

// route returns the route of a host's frames on the lowest level; false if they
// go to the asker directly.
func (j *Job) route(host string) (route, bool) {
	if j.Tree == nil || len(j.Tree.Parts) == 0 || j.Tree.Parts[0] < 1 {
		return route{}, false
	}
	r := route{job: j.ID, up: j.Tree.Parts[1:], apart: j.Tree.Apart, whole: j.Interval == 0}
	r.part = int(number(host) % uint64(j.Tree.Parts[0]))
	return r, r.valid() == nil
}

// number hashes a text to a number that is the same on every machine.
func number(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.LittleEndian.Uint64(sum[:])
}

// next returns the route on the level above; false if there is none.
func (r *route) next() (route, bool) {
	if len(r.up) == 0 {
		return route{}, false
	}
	up := *r
	up.part, up.up = r.part%r.up[0], r.up[1:]
	return up, true
}

// subject returns the subject at which mergers listen for frames of the part. of is mergeSubject
// for frames of hosts, sumsSubject for frames of mergers.
func (r *route) subject(of string) string {
	slot := number(fmt.Sprint(r.job, "/", len(r.up), "/", r.part)) % slots
	return of + strconv.FormatUint(slot, 10) + "." + r.job
}

// header encodes the route for the header of a message.
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

// partsText returns the header of a route with the given parts: the part, then
// the parts of the levels above.
func partsText(parts []int) string {
	r := route{}
	if len(parts) > 0 {
		r.part, r.up = parts[0], parts[1:]
	}
	return r.header()
}

var errRoute = errors.New("that is no way to the asker")

// parseRoute decodes a header that header encoded. The sender is not trusted.
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

// A FrameID identifies a frame of a host by its number.
type FrameID struct {
	Host string `json:"host"`
	Seq  uint64 `json:"seq"`
}

// A FrameAnswer is the answer to a frame that was sent to a merger, or by one.
type FrameAnswer struct {
	// Without lists frames that were counted before, or whose host was not asked. If there are any,
	// nothing of the merged frame was counted: the sender must send it again without them.
	Without []FrameID `json:"without,omitempty"`
	// Busy says that the frame was not accepted and should be sent to the asker
	// directly.
	Busy bool `json:"busy,omitempty"`
}
