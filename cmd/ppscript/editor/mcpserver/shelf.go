package mcpserver

import (
	"context"
	"fmt"
	"sync"
)

// A shelf keeps the full texts of the newest mostKept answers that were cut.
type shelf struct {
	mu    sync.Mutex
	texts map[string]string
	order []string
	last  int
}

// mostKept bounds the number of answers on a shelf.
const mostKept = 16

func newShelf() *shelf { return &shelf{texts: map[string]string{}} }

// put stores a text and returns the handle by which get finds it.
func (s *shelf) put(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	handle := fmt.Sprint("r", s.last)
	s.texts[handle] = text
	if s.order = append(s.order, handle); len(s.order) > mostKept {
		delete(s.texts, s.order[0])
		s.order = s.order[1:]
	}
	return handle
}

func (s *shelf) get(handle string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.texts[handle]
	return text, ok
}

type moreInput struct {
	Handle string `json:"handle"`
	Offset int    `json:"offset,omitempty" jsonschema:"bytes that were read already"`
}

func (s *server) more(_ context.Context, in moreInput) (answer, error) {
	text, ok := s.shelf.get(in.Handle)
	if !ok {
		return answer{}, fmt.Errorf("handle %s: not kept; the last %d answers are", in.Handle, mostKept)
	}
	if in.Offset < 0 || in.Offset > len(text) {
		return answer{}, fmt.Errorf("offset %d: the answer has %d bytes", in.Offset, len(text))
	}
	part := firstLines(text[in.Offset:], mostMore)
	a := answer{text: part}
	if end := in.Offset + len(part); end < len(text) {
		a.more = fmt.Sprintf("[to byte %d of %d; the rest: more with handle %s and offset %d]", end,
			len(text), in.Handle, end)
	}
	return a, nil
}
