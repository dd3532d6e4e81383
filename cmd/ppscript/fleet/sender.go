package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A sender sends the frames of a job to the asker: through mergers if the job uses them and they
// answer, else directly.
type sender struct {
	nc    *nats.Conn
	host  string
	job   string
	route route
	tree  bool

	mu     sync.Mutex
	direct time.Time // until this time, frames are sent to the asker directly
	sentAt time.Time // when the current frame was sent to a merger
	recall func()    // ends the wait for the merger's answer; nil if no frame is at a merger
}

const (
	// shunTime is how long frames are sent directly after a merger did not deliver one, absentTime
	// the same if there was no merger.
	shunTime   = 10 * time.Second
	absentTime = 2 * time.Second
	// leastWay is the minimum time that a frame is left at a merger before it
	// is sent again.
	leastWay = 300 * time.Millisecond
)

func (j *job) sender() *sender {
	s := &sender{nc: j.agent.nc, host: j.agent.Name, job: j.ID}
	s.route, s.tree = j.route(j.agent.Name)
	return s
}

// lacking handles a message that the asker lacks frames: a frame that is at a merger
// is sent again, directly.
func (s *sender) lacking(m *nats.Msg) {
	var a Again
	if read(m.Data, &a) != nil || !a.of(s.host) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recall != nil && time.Since(s.sentAt) > leastWay {
		s.recall()
	}
}

// send sends a frame, and returns when the asker has confirmed it.
func (s *sender) send(ctx context.Context, m *nats.Msg) error {
	if s.tree && s.merge(ctx, m) {
		return nil
	}
	m.Subject = partSubject + s.job + "." + wordOf(s.host)
	m.Header.Del(treeHeader)
	once, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	_, err := s.nc.RequestMsgWithContext(once, m)
	return err
}

// merge sends a frame through a merger; false if the asker did not confirm it.
func (s *sender) merge(ctx context.Context, m *nats.Msg) bool {
	once, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	s.mu.Lock()
	if time.Now().Before(s.direct) {
		s.mu.Unlock()
		return false
	}
	s.sentAt, s.recall = time.Now(), cancel
	s.mu.Unlock()
	m.Subject = s.route.subject(mergeSubject) + "." + wordOf(s.host)
	m.Header.Set(treeHeader, s.route.header())
	reply, err := s.nc.RequestMsgWithContext(once, m)
	var t FrameAnswer
	if err == nil {
		err = read(reply.Data, &t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recall = nil
	switch {
	case err == nil && !t.Busy:
		return true
	case errors.Is(err, nats.ErrNoResponders):
		s.direct = time.Now().Add(absentTime)
	default:
		s.direct = time.Now().Add(shunTime)
	}
	return false
}
