// Package fleet runs a script on many machines and shows one result. An agent on each machine runs
// the script as a separate process, as a user would run it there, and sends partial results at the
// end of each interval (package mergeable). The asker, "ppscript fleet run", merges and shows them.
// They communicate through a NATS server: the server of "ppscript hub", or the users' own cluster.
//
// An agent does only what its options and its policy permit. It ends a job whose asker is gone: the
// asker must renew a lease. Results that cannot be delivered are kept for a while, in order, and
// dropped ones are counted and reported.
//
// The command line passes functions that load and run scripts in Program; the package does not
// depend on the script host.
//
// # Words
//
//	asker   the process of "ppscript fleet run", which asks hosts to run a script
//	host    a machine that has an agent or is reached by ssh
//	label   NAME=VALUE of a host, by which askers select hosts
//	job     one run of a script on all hosts that an asker asked; has a random number
//	window  an interval of time with the results of all hosts; the whole run without -i
//	frame   the encoded results of one host for one window; mergers send frames of several hosts
//	share   the entry of a merged frame about one host: its name, frame number and times
//	merger  a process that merges frames of many hosts, so that the asker receives fewer
//	lease   a message by which an asker lets its job go on for some seconds more
package fleet

import (
	"encoding/json"
	"strings"
	"time"
)

// Subjects of NATS messages. The prefix has the version of the protocol. Job is
// a job's number, HOST a host's name as a word (wordOf).
const (
	prefix = "ppscript.2."

	// Messages of hosts; names.go restricts who may publish them.
	beatSubject    = prefix + "beat."    // + HOST: the agent is running: Host
	answerSubject  = prefix + "answer."  // + job.HOST: whether the job runs: Answer
	clockSubject   = prefix + "clock."   // + job.HOST: the time on the host's clock: Answer
	runningSubject = prefix + "running." // + query.HOST: the jobs there: []Running
	partSubject    = prefix + "part."    // + job.HOST: a frame; confirmed by an empty answer
	endSubject     = prefix + "end."     // + job.HOST: JobEnd; confirmed by an answer
	mergeSubject   = prefix + "merge."   // + slot.job.HOST: a frame for a merger; answered by FrameAnswer

	// Messages of askers, of the hub and of mergers.
	hostsSubject = prefix + "hosts"   // asks the hub for the list of hosts: []HostAge, in several messages
	jobSubject   = prefix + "job"     // to all agents: Job
	jobsSubject  = prefix + "jobs"    // to all agents: Query
	leaseSubject = prefix + "lease."  // + job: renews the lease; with content, it asks for the time
	stopSubject  = prefix + "stop."   // + job: agents end the job
	againSubject = prefix + "again."  // + job: the asker lacks frames, which may be at mergers: Again
	matesSubject = prefix + "mergers" // mergers report to each other: mate
	sumSubject   = prefix + "sum."    // + job: a frame of several hosts to the asker; answered by FrameAnswer
	sumsSubject  = prefix + "sums."   // + slot.job: the same to a merger of the next level
)

// Headers of messages about a job.
const (
	mergerHeader  = "Ppscript-Merger"
	droppedHeader = "Ppscript-Dropped" // number of frames that were dropped from a full queue
	keyHeader     = "Ppscript-Key"     // public key of a job's signature
	signHeader    = "Ppscript-Signature"
	treeHeader    = "Ppscript-Tree" // the route of a frame through mergers
)

const (
	beatTime  = time.Minute
	leaseTime = 2 * time.Second  // how often a lease is renewed
	clockTime = 30 * time.Second // how often clocks are compared
	lostTime  = 10 * time.Second // a job ends after this time without a lease
	// awayTime is how long a job goes on while the NATS server cannot be
	// reached.
	awayTime = time.Minute
	// answerTime is how long the asker waits for answers of agents.
	answerTime = 3 * time.Second
)

// A Host is a machine with an agent.
type Host struct {
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels,omitempty"`
	Kernel  string            `json:"kernel"`
	Arch    string            `json:"arch"`
	CPUs    int               `json:"cpus"`
	Version string            `json:"version"`
	Root    bool              `json:"root"`
	Works   string            `json:"works"` // which tracing works there, in a short text
	Jobs    int               `json:"jobs"`
	Began   time.Time         `json:"began"`
	Gone    bool              `json:"gone,omitempty"` // the agent ends normally
}

// HostAge is a host with the time since its last message.
type HostAge struct {
	Host
	AgoSeconds float64 `json:"ago_seconds"`
}

// A Job is the message by which an asker asks agents to run a script.
type Job struct {
	ID     string            `json:"id"`
	By     string            `json:"by"` // the asker: user@host
	Labels map[string]string `json:"labels,omitempty"`
	Request
	Stacks   bool          `json:"stacks,omitempty"` // send the stacks of each interval, too
	Interval time.Duration `json:"interval_ns"`
	Duration time.Duration `json:"duration_ns"`
	Script   string        `json:"script_sha256"`
	At       time.Time     `json:"at"`
	Bundle   *Bundle       `json:"bundle,omitempty"` // the script, if it does not come with ppscript
	Stored   string        `json:"stored,omitempty"` // SHA-256 of the bundle, if it is in the object store
	Tree     *Tree         `json:"tree,omitempty"`   // levels of mergers; nil: frames go to the asker
	// Keep is how long the job goes on and keeps its results without the asker; 0: lostTime.
	Keep time.Duration `json:"keep_ns,omitempty"`
}

// A Request is a script with its options and arguments, from the command line of the
// asker.
type Request struct {
	Name    string   `json:"name"`
	Options []Option `json:"options,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// An Option is an option of a script with its values.
type Option struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
	Bare   bool     `json:"bare,omitempty"` // given without a value
	// Own says that the script itself declares the option.
	Own bool `json:"own,omitempty"`
}

// String returns the request as words of a command line.
func (r *Request) String() string { return strings.Join(r.words(), " ") }

// words returns the request's words on a command line.
func (r *Request) words() []string {
	return append(append([]string{r.Name}, r.options()...), r.Args...)
}

// options returns the options as words of a command line.
func (r *Request) options() (words []string) {
	for _, o := range r.Options {
		for _, v := range o.Values {
			if o.Bare {
				words = append(words, "--"+o.Name)
			} else {
				words = append(words, "--"+o.Name+"="+v)
			}
		}
	}
	return words
}

// An Answer says whether an agent runs a job; Error is "" if it does.
type Answer struct {
	Host  string    `json:"host"`
	Error string    `json:"error,omitempty"`
	Hint  string    `json:"hint,omitempty"`
	Now   time.Time `json:"now"` // by the host's clock
}

// JobEnd says that a job has ended on a host.
type JobEnd struct {
	Host   string `json:"host"`
	Error  string `json:"error,omitempty"`
	Frames uint64 `json:"frames"` // number of frames that the job made
	// Dropped is the number of these frames that were not delivered.
	Dropped uint64 `json:"dropped,omitempty"`
}

// A Query asks agents for their jobs, or with Job, for one job and its messages. ID is part of the
// subject of the answers.
type Query struct {
	ID  string `json:"id"`
	Job string `json:"job,omitempty"`
}

// A Running describes a job on a host.
type Running struct {
	Host    string    `json:"host"`
	Job     string    `json:"job"`
	By      string    `json:"by"`
	Words   string    `json:"words"`
	Began   time.Time `json:"began"`
	Frames  uint64    `json:"frames"`
	Waiting int       `json:"waiting"` // frames that are not confirmed yet
	Over    bool      `json:"over,omitempty"`
	Error   string    `json:"error,omitempty"`
	Log     []string  `json:"log,omitempty"`
}

// fits reports that a host has all labels. The value "*" matches any value.
func fits(labels, host map[string]string) bool {
	for k, v := range labels {
		if got, ok := host[k]; !ok || v != "*" && v != got {
			return false
		}
	}
	return true
}

// must encodes a message as JSON. All types of messages can be encoded.
func must(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}
