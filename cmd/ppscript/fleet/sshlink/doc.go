// Package sshlink runs copies of the program on machines where it is not installed, for package
// fleet. It uses the user's ssh command with its settings. A file names the hosts. The package
// copies the program to each host, starts the copy, and exchanges messages with it over the
// standard input and output of ssh.
//
// A copy is a private file, named by its SHA-256 and checked before it is started. It removes its
// own file when it starts, unless the user wants to keep it, and it ends when its standard input
// ends. So no process and no file is left behind, whatever happens to the asker. The package does
// not interpret the messages.
package sshlink
