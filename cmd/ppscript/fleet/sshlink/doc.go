// Package sshlink reaches machines on which nothing is installed, by the user's ssh command with its
// settings: a file names the hosts, a copy of the program goes to each of them, is started, and is talked
// with by messages over its standard input and output. Package fleet asks its questions by it.
//
// A copy is a private file, named by its SHA-256 and checked before it is started. It removes itself when it
// starts, unless it shall be kept, and ends when its standard input does: whatever becomes of the asker, no
// process and no file is left behind. Nothing here knows what the messages say.
package sshlink
