package resultfile

import (
	"os"
	"testing"
)

// A /dev/null that was opened for writing alone was meant; one for both may be Go's own, for a closed one.
func TestNowhere(t *testing.T) {
	f := func(path string, mode int, want bool) {
		t.Helper()
		file, err := os.OpenFile(path, mode, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if got := Nowhere(file); got != want {
			t.Errorf("%s opened with %#x: got %v, want %v", path, mode, got, want)
		}
	}
	f("/dev/null", os.O_RDWR, true)
	f("/dev/null", os.O_WRONLY, false)
	f("/dev/zero", os.O_RDWR, false)
	f(t.TempDir(), os.O_RDONLY, false)
}
