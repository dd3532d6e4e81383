package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// This file has the server see to it who speaks for which host. All that a host tells of itself (that it is
// there, that it runs a job, its frames, that it has ended) is published at subjects that end with its name,
// and the receiver believes the subject alone. So a server that binds subjects to users binds hosts to
// credentials: a cluster of others by the permissions of its users, ours by what is below. Signatures in the
// messages would do the same a second time, and mergers, which put frames together, would have to be believed
// all the same.

// wordOf is a name as a word of a subject. A byte that a subject cannot have is written as = and two
// hexadecimal digits.
func wordOf(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// nameOf is the name that a word of a subject stands for; "" is none. Each name has one word only: else one
// user could be many.
func nameOf(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] != '=' {
			b.WriteByte(word[i])
			continue
		}
		if i+3 > len(word) {
			return ""
		}
		c, err := hex.DecodeString(word[i+1 : i+3])
		if err != nil {
			return ""
		}
		b.Write(c)
		i += 2
	}
	if name := b.String(); wordOf(name) == word && namesFit("host", name) == nil {
		return name
	}
	return ""
}

// nobody is no word of a name: the server tells there that nobody hears a question.
const nobody = "="

// speaker is the host at whose subject a message was published; "" if it is none.
func speaker(subject string) string { return nameOf(subject[strings.LastIndexByte(subject, '.')+1:]) }

// hostSubjects are where a host tells of itself: nobody else may publish there.
func hostSubjects(name string) []string {
	word := wordOf(name)
	return []string{beatSubject + word, answerSubject + "*." + word, clockSubject + "*." + word,
		runningSubject + "*." + word, partSubject + "*." + word, endSubject + "*." + word,
		mergeSubject + "*.*." + word}
}

// inboxOf is where answers come to what a host sends.
func inboxOf(name string) string { return "_INBOX." + wordOf(name) }

// tokenPrefix begins a secret that is of one host.
const tokenPrefix = "ppscript-host:"

// HostToken is the secret of a host, made of the one of the hub. With it a connection can be that host, and
// nobody else.
func HostToken(secret, name string) string {
	sum := hmac.New(sha256.New, []byte(secret))
	_, _ = sum.Write([]byte("ppscript fleet host 1\x00" + name))
	return tokenPrefix + wordOf(name) + ":" + hex.EncodeToString(sum.Sum(nil))
}

// tokenName is the host whose secret a token is; "" if it is not of one host.
func tokenName(token string) string {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	word, _, _ := strings.Cut(rest, ":")
	if !ok {
		return ""
	}
	return nameOf(word)
}
