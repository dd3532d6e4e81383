package interpreter

import (
	"encoding/binary"
	"math/rand"
	"testing"
)

// An interpreter is known by the name of the file that has it.
func TestLanguageOf(t *testing.T) {
	for name, want := range map[string]string{"/usr/bin/python3.11": "python",
		"/a/libpython3.9.so.1.0": "python", "/a/libpython3.13.so": "python", "/usr/bin/python3": "", "/usr/bin/python3.8": "", "/usr/bin/python3.15": "", "/a/xpython3.11": "", "/a/python3.11-config": "",
		"/a/libpython3.so": "", "/usr/bin/python3.12 (deleted)": "python",
		"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.2": "ruby", "/usr/bin/ruby3.1": "ruby",
		"/root/.rbenv/versions/3.3.8/bin/ruby": "ruby", "/a/libruby.so.3.3": "ruby", "/a/ruby-build": "",
		"/usr/bin/php8.2": "php", "/usr/sbin/php-fpm8.4": "php", "/usr/local/bin/php": "php",
		"/usr/lib/apache2/modules/libphp8.2.so": "php", "/usr/lib/apache2/modules/libphp.so": "php",
		"/a/phpunit": "", "/a/php.ini": ""} {
		got := ""
		if l := languageOf(name); l != nil {
			got = l.name
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// rubyIndex makes an index as Ruby does: of each word of the code, how many entries begin up to it.
func rubyIndex(begins []bool) []byte {
	b := make([]byte, rubyHead+(len(begins)+rubyBits)/rubyBits*rubyBlock)
	le := binary.LittleEndian
	n := 0
	for at, is := range begins {
		if at >= rubyNumbers {
			in := (at - rubyNumbers) % rubyBits
			block := b[rubyHead+(at-rubyNumbers)/rubyBits*rubyBlock:]
			if in == 0 {
				le.PutUint32(block, uint32(n))
			} else if in%64 == 0 {
				ranks := le.Uint64(block[8:]) | uint64(n-int(le.Uint32(block)))<<(9*(in/64-1))
				le.PutUint64(block[8:], ranks)
			}
			if is {
				word := block[16+in/64*8:]
				le.PutUint64(word, le.Uint64(word)|1<<(in%64))
			}
		}
		if is {
			n++
		}
		if at < rubyNumbers {
			word := b[at/9*8:]
			le.PutUint64(word, le.Uint64(word)|uint64(n)<<(at%9*7))
		}
	}
	return b
}

// TestRubyRank checks that each word of Ruby's code has the entry that begins at it or before it.
func TestRubyRank(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for _, words := range []int{1, 9, 53, 54, 55, 118, 565, 566, 567, 2000} {
		begins := make([]bool, words)
		for i := range begins {
			begins[i] = i == 0 || rnd.Intn(3) == 0
		}
		index, want := rubyIndex(begins), 0
		for at, is := range begins {
			if is {
				want++
			}
			if got := rubyRank(index, uint64(at)); got != want {
				t.Fatalf("word %d of %d: got entry %d, want %d", at, words, got, want)
			}
		}
		if got := rubyRank(index[:8], uint64(words+4000)); got != 0 {
			t.Errorf("behind the index: got entry %d", got)
		}
	}
}
