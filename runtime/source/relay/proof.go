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

// This file is how sender and receiver prove to each other that they know the
// token, which itself never travels:
//
//	sender    greeting  magic, salt, a nonce
//	receiver  answer    a nonce, HMAC(key, "receiver", greeting, nonce)
//	sender    verdict   a byte; if it is good: HMAC(key, "sender", greeting, nonce, answer's HMAC)
//
// Both nonces are in both proofs, so an overheard proof is of no use later; the
// names of the sides are in them, so neither side's proof serves as the
// other's. The receiver sends its proof first: a peer without the token gets
// nothing that was computed with it. The key is the token stretched, so that
// guessing a poor token from a proof costs 20 ms a guess; a good token is
// random anyway. The recording itself is not encrypted.

// greetingMagic begins greetings; recordings begin with another magic number.
const greetingMagic = "ppscrip\x01"

const (
	saltSize     = 16
	nonceSize    = 32
	greetingSize = len(greetingMagic) + saltSize + nonceSize
	answerSize   = nonceSize + sha256.Size
	// stretch is how many rounds make a key of a token.
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

// A secret is the token as a sender keeps it.
type secret struct {
	salt [saltSize]byte
	key  []byte
}

// newSecret has a salt of its own, so that keys are of one run.
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

// greeting is a new one, with a nonce that was never used.
func (s *secret) greeting() ([]byte, error) {
	g := append([]byte(greetingMagic), s.salt[:]...)
	g = append(g, make([]byte, nonceSize)...)
	_, err := rand.Read(g[len(g)-nonceSize:])
	return g, err
}

// welcome is the reply to an answer to a greeting; nil if the answer is wrong.
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

// admit lets a receiver prove itself. Full says that there is no room for it.
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

// Reasons of a receiver not to go on.
var (
	errRefused  = errors.New("the sender has another PPSCRIPT_TOKEN")
	errImpostor = errors.New("what listens there does not know the token")
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
