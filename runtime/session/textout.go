package session

import "ppscript/runtime/result"

// textOut takes what exec attributes print.
type textOut struct {
	to   *results
	text result.Text // of the call
}

func (t *textOut) Write(b []byte) (int, error) {
	if t.to.failed == nil {
		t.text.Bytes = b
		t.to.failed = t.to.out.Show(&t.text)
	}
	return len(b), nil
}
