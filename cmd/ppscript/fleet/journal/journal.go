// Package journal tells the journal of systemd about each run, in a line of JSON: the user, the script, on
// whom, what it opened, what it cost, and how it ended. Machines without such a journal are told
// nothing. The command line fills in the entries.
package journal

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Socket is where systemd's journal takes entries of programs.
const Socket = "/run/systemd/journal/socket"

// An Entry is a run. Its JSON names are promised: docs/security.md lists them.
type Entry struct {
	V    int    `json:"v"` // 1
	Type string `json:"type"`
	User
	Version string   `json:"version"`
	Command []string `json:"command"` // without passwords in addresses
	Files   []File   `json:"files,omitempty"`
	Trust
	Target Target   `json:"target"`
	Opened []string `json:"opened,omitempty"` // "write /tmp/x", "listen 127.0.0.1:8080"
	Fleet

	Began time.Time `json:"began"`
	End
}

// A Fleet is the asker on another machine, and the job's number.
type Fleet struct {
	Asker string `json:"asker,omitempty"` // user@host, as he says
	Job   string `json:"job,omitempty"`
}

// A User is the user who ran it: the number, that of the login, and the caller of sudo.
type User struct {
	UID      int    `json:"uid"`
	LoginUID int64  `json:"login_uid"` // -1 is none
	SudoUser string `json:"sudo_user,omitempty"`
}

// An End is how it went.
type End struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	MaxRSS     int64   `json:"max_rss"` // bytes
	Samples    uint64  `json:"samples"`
	Missing    uint64  `json:"missing"` // events, by all kinds of loss
	Error      string  `json:"error,omitempty"`
}

// A File is a script of others, or of the user.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of what ran
}

// A Trust is why it was allowed to run, where not everybody's scripts are.
type Trust struct {
	SignedBy string `json:"signed_by,omitempty"` // the fingerprint of a key
	Rule     string `json:"rule,omitempty"`      // of ppscript sealed: "/etc/ppscript/sealed:7"
}

// A Target is what was observed; without any member it is the whole machine.
type Target struct {
	PIDs      []int    `json:"pids,omitempty"`
	TIDs      []int    `json:"tids,omitempty"`
	CPUs      []int    `json:"cpus,omitempty"`
	Cgroups   []string `json:"cgroups,omitempty"`
	Command   []string `json:"command,omitempty"`
	Recording string   `json:"recording,omitempty"`
}

// A Journal takes entries. Nil is a machine that has none.
type Journal struct{ conn net.Conn }

// Open reaches the journal at a socket; nil if there is none. It opens early: what is told at
// the end needs no right to open.
func Open(socket string) *Journal {
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		return nil
	}
	return &Journal{conn}
}

// New begins an entry: user, script and time.
func New(version string, args []string, files map[string][sha256.Size]byte) *Entry {
	e := &Entry{V: 1, Type: "run", User: User{os.Getuid(), -1, os.Getenv("SUDO_USER")}, Version: version,
		Began: time.Now()}
	if text, err := os.ReadFile("/proc/self/loginuid"); err == nil {
		const none = 1<<32 - 1
		if id, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && id != none {
			e.LoginUID = id
		}
	}
	for _, arg := range args {
		e.Command = append(e.Command, Redacted(arg))
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		e.Files = append(e.Files, File{Path: path, SHA256: fmt.Sprintf("%x", files[path])})
	}
	return e
}

// Redacted is an argument without the password of an address in it.
func Redacted(arg string) string {
	name, value, option := strings.Cut(arg, "=")
	if !option || !strings.HasPrefix(name, "--") {
		name, value = "", arg
	}
	if !strings.Contains(value, "://") {
		return arg
	}
	u, err := url.Parse(value)
	if err != nil || u.User == nil {
		return arg
	}
	if name != "" {
		return name + "=" + u.Redacted()
	}
	return u.Redacted()
}

// longest is how long a line may be: the kernel bounds what is sent at once.
const longest = 100 << 10

// Tell sends an entry, and closes the journal. A line that would be too long has no arguments
// of the command beyond the first.
func (j *Journal) Tell(e *Entry) error {
	if j == nil {
		return nil
	}
	defer j.conn.Close()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(line) > longest {
		e.Command, e.Target.Command, e.Files = e.Command[:min(1, len(e.Command))], nil, nil
		if line, err = json.Marshal(e); err != nil {
			return err
		}
	}
	const info = "6" // the level of syslog
	_, err = j.conn.Write([]byte("SYSLOG_IDENTIFIER=ppscript\nPRIORITY=" + info + "\nMESSAGE=" +
		string(line) + "\n"))
	return err
}
