// Package journal writes an entry about each run to systemd's journal, as a line of JSON: the user,
// the script, the observed target, the opened files and addresses, the cost, and the outcome. On a
// machine without systemd's journal it does nothing. The command line fills in the entries.
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

// Socket is the socket at which systemd's journal receives entries.
const Socket = "/run/systemd/journal/socket"

// An Entry describes a run. Its JSON names are stable and documented in
// docs/security.md.
type Entry struct {
	V    int    `json:"v"` // 1
	Type string `json:"type"`
	User
	Version string   `json:"version"`
	Command []string `json:"command"` // addresses in it have no passwords
	Files   []File   `json:"files,omitempty"`
	Trust
	Target Target   `json:"target"`
	Opened []string `json:"opened,omitempty"` // "write /tmp/x", "listen 127.0.0.1:8080"
	Fleet

	Began time.Time `json:"began"`
	End
}

// A Fleet has the asker on another machine and the job's number, if the run is
// a job of a fleet.
type Fleet struct {
	Asker string `json:"asker,omitempty"` // user@host, as the asker says
	Job   string `json:"job,omitempty"`
}

// A User identifies the user of the run: user ID, login user ID, and the caller of
// sudo.
type User struct {
	UID      int    `json:"uid"`
	LoginUID int64  `json:"login_uid"` // -1: no login
	SudoUser string `json:"sudo_user,omitempty"`
}

// An End has the cost and the outcome of a run.
type End struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	MaxRSS     int64   `json:"max_rss"` // bytes
	Samples    uint64  `json:"samples"`
	Missing    uint64  `json:"missing"` // events lost, of all kinds of loss
	Error      string  `json:"error,omitempty"`
}

// A File is a script file that does not come with the program.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the text that ran
}

// A Trust has the reason why the script was allowed to run, if signatures or
// rules are required.
type Trust struct {
	SignedBy string `json:"signed_by,omitempty"` // fingerprint of the key
	Rule     string `json:"rule,omitempty"`      // of ppscript sealed: "/etc/ppscript/sealed:7"
}

// A Target describes the observed processes, CPUs or recording. If it is empty,
// the whole machine was observed.
type Target struct {
	PIDs      []int    `json:"pids,omitempty"`
	TIDs      []int    `json:"tids,omitempty"`
	CPUs      []int    `json:"cpus,omitempty"`
	Cgroups   []string `json:"cgroups,omitempty"`
	Command   []string `json:"command,omitempty"`
	Recording string   `json:"recording,omitempty"`
}

// A Journal is a connection to systemd's journal. A nil Journal is valid and
// does nothing.
type Journal struct{ conn net.Conn }

// Open connects to the journal at a socket; nil if there is none. It is called early in a
// run, because a later sandbox may forbid it.
func Open(socket string) *Journal {
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		return nil
	}
	return &Journal{conn}
}

// New makes an entry with the user, the scripts and the time of the beginning.
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

// Redacted returns an argument without the password of an address in it.
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

// longest bounds the bytes of an entry, because the kernel bounds a datagram.
const longest = 100 << 10

// Tell sends an entry, and closes the connection. An entry that would be too long is sent
// without files and without the arguments of commands.
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
	const info = "6" // priority of syslog
	_, err = j.conn.Write([]byte("SYSLOG_IDENTIFIER=ppscript\nPRIORITY=" + info + "\nMESSAGE=" +
		string(line) + "\n"))
	return err
}
