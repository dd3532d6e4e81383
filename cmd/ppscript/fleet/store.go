package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/runtime/text/diag"
)

// This file transfers scripts that are too long for a message through the object store of the NATS
// cluster. They are stored by the hash of their bytes, and agents check the hash, so that machines
// run exactly the asker's script even if others can write to the store.

const (
	storeName = "ppscript-scripts"
	storeTime = time.Hour // how long a script is kept in the store
	storeMost = 256 << 20 // bytes of all scripts in the store
	// fetchTime is how long an agent waits for a script. It is shorter than
	// answerTime, the time that the asker waits for the agent.
	fetchTime = 2 * time.Second
)

// keep moves the bundle of a job into the store, where agents find it.
func (j *Job) keep(ctx context.Context, nc *nats.Conn) error {
	text := must(j.Bundle)
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:])
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	js, err := nc.JetStream(nats.Context(ctx))
	if err != nil {
		return err
	}
	store, err := js.ObjectStore(storeName)
	if errors.Is(err, nats.ErrStreamNotFound) || errors.Is(err, nats.ErrBucketNotFound) {
		store, err = js.CreateObjectStore(&nats.ObjectStoreConfig{Bucket: storeName, TTL: storeTime,
			MaxBytes: storeMost, Description: "scripts of fleets, by the SHA-256 of their bytes"})
	}
	if err == nil && !stored(ctx, store, name) {
		_, err = store.Put(&nats.ObjectMeta{Name: name}, bytes.NewReader(text), nats.Context(ctx))
	}
	if err != nil {
		return diag.Errorf(diag.Run, "send", j.Name,
			"%d bytes are too many for a message, and the server stores nothing: %w", len(text), err).
			WithHint("use a NATS cluster with JetStream (nats-server -js), or load fewer files")
	}
	j.Bundle, j.Stored = nil, name
	return nil
}

// stored reports that a script is in the store and will stay for a while. To store it again would
// disturb agents that are reading it.
func stored(ctx context.Context, store nats.ObjectStore, name string) bool {
	info, err := store.GetInfo(name, nats.Context(ctx))
	return err == nil && !info.Deleted && time.Since(info.ModTime) < storeTime/2
}

// fetch reads the bundle of a job from the store, if the job refers to it.
func (j *Job) fetch(ctx context.Context, nc *nats.Conn) error {
	if j.Stored == "" || j.Bundle != nil {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return diag.Errorf(diag.Run, "fetch", j.Name, format, args...).
			WithHint("ask again; the agent must be allowed to read the object store %s", storeName)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	js, err := nc.JetStream(nats.Context(ctx))
	if err != nil {
		return refuse("%w", err)
	}
	store, err := js.ObjectStore(storeName)
	if err != nil {
		return refuse("%w", err)
	}
	object, err := store.Get(j.Stored, nats.Context(ctx))
	if err != nil {
		return refuse("%w", err)
	}
	defer object.Close()
	text, err := io.ReadAll(io.LimitReader(object, 2*mostBytes))
	if err != nil {
		return refuse("%w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != j.Stored {
		return refuse("it is not what was asked for: its SHA-256 is %x", sum[:4])
	}
	var b Bundle
	if err := json.Unmarshal(text, &b); err != nil {
		return refuse("%w", err)
	}
	j.Bundle = &b
	return nil
}
