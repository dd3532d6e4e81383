package session

import "ppscript/runtime/result"

// textOut shows the output of the source attribute exec among the results.
type textOut struct {
	to   *results
	text result.Text // reused in each call
}

func (t *textOut) Write(b []byte) (int, error) {
	if t.to.failed == nil {
		t.text.Bytes = b
		t.to.failed = t.to.out.Show(&t.text)
	}
	return len(b), nil
}
