package otlp

import "testing"

// Answers of servers are what anybody sends.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte{0x0a, 5, 0x08, 3, 0x12, 1, 'x'})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{0x0b, 0x0b, 0x0b, 0x0c})
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, why := partial(body); len(why) > len(body) {
			t.Errorf("got %d bytes of %d", len(why), len(body))
		}
	})
}
