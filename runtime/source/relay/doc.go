// Package relay sends events to other machines and programs while they happen,
// and receives them: between a host and its guests, between hosts, into a file.
//
// A sender sends a perf.data recording in pipe mode, so that every reader of
// recordings reads it too (perf script among them), and a receiver reads the
// output of perf record -o - as well. It describes itself: formats of the
// events, host, clock. The sender's events are in time order, and a record with
// the time goes with them ten times a second, and twice while there are none, so that
// a receiver that merges them with events of its own need not wait for a silent sender.
// Receivers on this machine that merge nothing say so; where all do, or there are none,
// nothing is sent while nothing happens.
//
// Stacks travel by the names of their functions, see stacks.go: a receiver has
// neither the kernel nor the files of the sender.
//
// Addresses are PORT (of this machine only), IP:PORT, unix:PATH, vsock:PORT or
// vsock:CID:PORT, a character device such as a virtio port, or a file. Nothing is
// sent to strangers, and nothing believed of them. PORT and unix:PATH are unix
// sockets: the kernel tells the user at the other end, who must be root or us
// (peer.go). Where anybody can connect or listen, TCP on loopback too, both sides
// prove that they know the same token (proof.go), or have each other's
// certificates (secure.go), or both; only the latter encrypts. Devices and files have owners;
// with a token, the reader of a device proves that it knows it.
//
// The memory for receivers is bounded for all of them together (backlog.go).
// The last record says that the sender is done; without it the stream has ended
// early.
//
// Package session calls it; it opens no events.
package relay
