package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// This file defines the subjects by which the server ensures that a host can speak only for itself.
// All messages of a host (that it is there, that it runs a job, its frames, its end) are published
// at subjects that end with the host's name, and the receiver trusts only the subject. So a server
// that restricts users to subjects binds each host to its credentials: a NATS cluster by the
// permissions of its users, the hub's own server by hostSubjects. Signatures in the messages would
// do the same a second time, and mergers, which merge frames, would still have to be trusted.

// wordOf encodes a name as a word of a subject. A byte that a subject cannot have is written as =
// and two hexadecimal digits.
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

// nameOf decodes a word of a subject to a name; "" if it is invalid. Each name has only one valid
// word: otherwise one user could appear as several hosts.
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

// nobody is a word that encodes no name. The server answers at this subject if a
// question has no receivers.
const nobody = "="

// speaker returns the host at whose subject a message was published; "" if it is
// not a host's.
func speaker(subject string) string { return nameOf(subject[strings.LastIndexByte(subject, '.')+1:]) }

// hostSubjects returns the subjects of a host's messages. No other client may
// publish there.
func hostSubjects(name string) []string {
	word := wordOf(name)
	return []string{beatSubject + word, answerSubject + "*." + word, clockSubject + "*." + word,
		runningSubject + "*." + word, partSubject + "*." + word, endSubject + "*." + word,
		mergeSubject + "*.*." + word}
}

// inboxOf returns the prefix of the subjects at which a host receives answers.
func inboxOf(name string) string { return "_INBOX." + wordOf(name) }

// tokenPrefix begins the secret of one host, unlike the secret of the fleet.
const tokenPrefix = "ppscript-host:"

// HostToken derives the secret of a host from the hub's. A client with it can act only as that
// host.
func HostToken(secret, name string) string {
	sum := hmac.New(sha256.New, []byte(secret))
	_, _ = sum.Write([]byte("ppscript fleet host 1\x00" + name))
	return tokenPrefix + wordOf(name) + ":" + hex.EncodeToString(sum.Sum(nil))
}

// tokenName returns the host whose secret a token is; "" if it is not a host's
// secret.
func tokenName(token string) string {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	word, _, _ := strings.Cut(rest, ":")
	if !ok {
		return ""
	}
	return nameOf(word)
}
