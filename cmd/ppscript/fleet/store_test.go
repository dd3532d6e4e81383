package fleet

import (
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"ppscript/runtime/text/diag"
)

// A script that was stored is fetched as it was, stored once, and refused if anybody has put something else
// in its place.
func TestStoredScriptsAreWhatWasAskedFor(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
		NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not begin")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx := context.Background()
	files := map[string][]byte{"x.star": []byte("one"), "y.star": bytes.Repeat([]byte("# long\n"), 200_000)}
	job := func() *Job { return &Job{Bundle: &Bundle{Main: "x.star", Files: maps.Clone(files)}} }
	j := job()
	if err := j.fetch(ctx, nc); err != nil || j.Bundle == nil {
		t.Errorf("one that came with its job: got %v", err)
	}
	js, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]bool{}
	for range 2 {
		if j = job(); j.keep(ctx, nc) != nil || j.Bundle != nil || len(j.Stored) != 64 {
			t.Fatalf("got %+v", j)
		}
		store, err := js.ObjectStore(storeName)
		if err != nil {
			t.Fatal(err)
		}
		info, err := store.GetInfo(j.Stored)
		if err != nil {
			t.Fatal(err)
		}
		numbers[info.NUID] = true
	}
	if len(numbers) != 1 {
		t.Error("it was stored anew, so that others who read it lose it")
	}
	if err := j.fetch(ctx, nc); err != nil || !bytes.Equal(j.Bundle.Files["y.star"], files["y.star"]) {
		t.Errorf("got %v", err)
	}
	store, err := js.ObjectStore(storeName)
	if err == nil {
		_, err = store.PutBytes(j.Stored, []byte(`{"main":"evil.star"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	j.Bundle = nil
	if err := j.fetch(ctx, nc); err == nil || !strings.Contains(err.Error(), "not what was asked for") ||
		diag.HintOf(err) == "" {
		t.Errorf("another script in its place: got %v", err)
	}
	j.Stored = strings.Repeat("0", 64)
	if err := j.fetch(ctx, nc); err == nil || diag.HintOf(err) == "" {
		t.Errorf("one that is not there: got %v", err)
	}
}
