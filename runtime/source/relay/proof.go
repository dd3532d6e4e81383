package relay

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
)

// In this file, sender and receiver prove to each other that they know the
// token, without sending the token itself:
//
//	sender    greeting  magic, salt, a nonce
//	receiver  answer    a nonce, HMAC(key, "receiver", greeting, nonce)
//	sender    verdict   a byte; if it is good: HMAC(key, "sender", greeting, nonce, answer's HMAC)
//
// Both nonces are part of both proofs, so an overheard proof cannot be used
// again. The names of the sides are part of them, so the proof of one side
// cannot be used for the other. The receiver sends its proof first, so that a
// peer without the token gets nothing that was computed from the token. The key
// is derived from the token by many rounds of hashing, so that guessing a poor
// token from a proof costs 20 ms for each guess. The recording itself is not
// encrypted.

// greetingMagic begins greetings; recordings begin with another magic number.
const greetingMagic = "ppscrip\x01"

const (
	saltSize     = 16
	nonceSize    = 32
	greetingSize = len(greetingMagic) + saltSize + nonceSize
	answerSize   = nonceSize + sha256.Size
	// stretch is the number of hashing rounds that derive the key from the
	// token.
	stretch = 100_000
)

// Verdicts of a sender.
const (
	verdictGood = iota
	verdictWrong
	verdictFull
)

var (
	errWrongToken = errors.New("does not know the token")
	errFull       = errors.New("too many receivers")
)

// A secret is the key that a sender has derived from its token, with the salt.
type secret struct {
	salt [saltSize]byte
	key  []byte
}

// newSecret makes a secret with a random salt, so that keys differ between
// runs.
func newSecret(token string) (*secret, error) {
	s := &secret{}
	if _, err := rand.Read(s.salt[:]); err != nil {
		return nil, err
	}
	var err error
	s.key, err = keyOf(token, s.salt[:])
	return s, err
}

func keyOf(token string, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha256.New, token, salt, stretch, sha256.Size)
}

func proof(key []byte, side string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(greetingMagic + side + "\x00"))
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// greeting makes a greeting with a new nonce.
func (s *secret) greeting() ([]byte, error) {
	g := append([]byte(greetingMagic), s.salt[:]...)
	g = append(g, make([]byte, nonceSize)...)
	_, err := rand.Read(g[len(g)-nonceSize:])
	return g, err
}

// welcome returns the verdict and the proof for a receiver's answer; nil if the
// answer is wrong.
func (s *secret) welcome(greeting, answer []byte) []byte {
	if len(answer) != answerSize {
		return nil
	}
	nonce, got := answer[:nonceSize], answer[nonceSize:]
	if !hmac.Equal(got, proof(s.key, "receiver", greeting, nonce)) {
		return nil
	}
	return append([]byte{verdictGood}, proof(s.key, "sender", greeting, nonce, got)...)
}

// admit returns an error if a receiver does not prove that it knows the token.
// full reports that there are too many receivers.
func (s *secret) admit(conn io.ReadWriter, full func() bool) error {
	g, err := s.greeting()
	if err != nil {
		return err
	}
	if _, err := conn.Write(g); err != nil {
		return err
	}
	answer := make([]byte, answerSize)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	w := s.welcome(g, answer)
	switch {
	case w == nil:
		_, _ = conn.Write([]byte{verdictWrong})
		return errWrongToken
	case full != nil && full():
		_, _ = conn.Write([]byte{verdictFull})
		return errFull
	}
	_, err = conn.Write(w)
	return err
}

// Reasons why a receiver ends.
var (
	errRefused  = errors.New("the sender has another PPSCRIPT_TOKEN")
	errImpostor = errors.New("the listener there does not know the token")
	errNoToken  = errors.New("the sender asks for a token, and there is none here")
)

// prove answers a greeting and checks the sender's proof.
func prove(conn io.ReadWriter, greeting []byte, token string) error {
	if token == "" {
		return errNoToken
	}
	key, err := keyOf(token, greeting[len(greetingMagic):len(greetingMagic)+saltSize])
	if err != nil {
		return err
	}
	nonce := make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	own := proof(key, "receiver", greeting, nonce)
	if _, err := conn.Write(append(bytes.Clone(nonce), own...)); err != nil {
		return err
	}
	var verdict [1]byte
	if _, err := io.ReadFull(conn, verdict[:]); err != nil {
		return err
	}
	switch verdict[0] {
	case verdictGood:
	case verdictWrong:
		return errRefused
	case verdictFull:
		return errors.New("the sender serves as many receivers as it can")
	default:
		return errImpostor
	}
	got := make([]byte, sha256.Size)
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !hmac.Equal(got, proof(key, "sender", greeting, nonce, own)) {
		return errImpostor
	}
	return nil
}
