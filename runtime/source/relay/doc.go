// Package relay sends events to other machines and programs while they happen,
// and receives them: between a host and its guests (virtual machines), between
// hosts, or into a file.
//
// A sender sends a perf.data recording in pipe mode. So every reader of recordings,
// such as perf script, can read it, and a receiver can read the output of perf record
// -o -. The recording has the formats of the events, the host and the clock. The events
// are in time order. After each batch the sender sends a round: a mark that all events
// up to a time were sent. It sends ten rounds a second, and two a second while there
// are no events, so that a receiver that merges them with its own events need not wait
// for a silent sender. Receivers on this machine that do not merge tell the sender so.
// If no receiver merges, no rounds are sent while there are no events.
//
// Stacks are sent with the names of their functions, since a receiver has
// neither the sender's kernel nor its files. See stacks.go.
//
// Addresses are PORT (of this machine only), IP:PORT, unix:PATH, vsock:PORT or
// vsock:CID:PORT, a character device such as a virtio port, or a file. Each side
// authenticates the other. PORT and unix:PATH are unix sockets: the kernel reports the user
// at the other end, who must be root or the user of this process (peer.go). For addresses to
// which anybody can connect, including TCP on loopback, both sides prove that they know the
// same token (proof.go), or that they have each other's certificates (secure.go), or both.
// Only certificates encrypt. Devices and files are protected by their owners and modes; with
// a token, the reader of a device must also prove that it knows the token.
//
// The memory for all receivers together is bounded (backlog.go). The last
// record marks the end of the stream; without it the stream has ended early.
//
// Package session calls it; it opens no events.
package relay
