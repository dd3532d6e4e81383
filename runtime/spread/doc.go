// Package spread sends events to other machines and programs while they happen,
// and receives them: between a host and its guests, between hosts, into a file.
//
// What is sent is a perf.data recording in pipe mode, so that everything else
// that reads recordings reads it too (perf script among them), and whatever
// perf record -o - writes can be received. It describes itself: formats of the
// events, host, clock. The sender's events are in time order, and a record with
// the time goes with them ten times a second, so that who merges them with
// events of its own need not wait for a silent sender.
//
// Stacks travel by the names of their functions, see stacks.go: a receiver has
// neither the kernel nor the files of the sender.
//
// Addresses are PORT (of this machine only), IP:PORT, unix:PATH (of this user
// only), vsock:PORT or vsock:CID:PORT, a character device such as a virtio port,
// or a file. There is no encryption. Ports that other machines can reach need a
// token, which both sides take from the same place.
//
// Package session calls it; it opens no events.
package spread
