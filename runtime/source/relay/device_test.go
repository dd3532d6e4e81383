package relay

import (
	"strings"
	"testing"
	"time"
)

// A device that accepts no bytes is tried again from time to time, and the user
// gets the reason.
func TestDeviceThatTakesNothing(t *testing.T) {
	s, log := sender(t, "/dev/full", Options{})
	began := time.Now()
	send(s, 1, 300)
	if err := s.Round(0); err != nil {
		t.Fatal(err)
	}
	log.await(t, "has hung up: no space left on device", 1)
	for range 30 { // it has something to take all the time
		send(s, 301, 400)
		if err := s.Round(0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, most := strings.Count(log.String(), "is connected"), int(time.Since(began)/readerPause)+
		1; n > most {
		t.Errorf("it was served %d times, want at most %d", n, most)
	}
}

func (s *messageLog) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}
