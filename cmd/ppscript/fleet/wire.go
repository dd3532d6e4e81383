// Package fleet asks one question of many machines, and shows one answer. Agents on the machines run a
// script as it would run there by hand, in a process of its own, and send partial results at the end of
// each window (package mergeable). The asker puts them together. A NATS server is between them: that of
// "ppscript hub", or the users' own cluster.
//
// An agent does only what its options permit. It runs nothing for an asker that is gone: the asker renews a
// lease. What could not be delivered is kept for a while, in order, and what had to be dropped is said.
//
// The command line gives the package its scripts by the functions of Program; the package knows nothing of
// how scripts run.
package fleet

import (
	"encoding/json"
	"strings"
	"time"
)

// The subjects begin with the version of what is said on them.
const (
	prefix = "ppscript.2."

	// Of hosts: names.go. HOST is the word of the name.
	beatSubject    = prefix + "beat."    // + HOST: agents tell that they are there: Host
	answerSubject  = prefix + "answer."  // + job.HOST: whether it runs: Answer
	clockSubject   = prefix + "clock."   // + job.HOST: what time it is there: Answer
	runningSubject = prefix + "running." // + query.HOST: what runs: []Running
	partSubject    = prefix + "part."    // + job.HOST: frames, each of which is answered
	endSubject     = prefix + "end."     // + job.HOST: Ended, which is answered
	mergeSubject   = prefix + "merge."   // + slot.job.HOST: frames for a merger, answered by Taken

	// Of the asker, of the hub and of mergers.
	hostsSubject = prefix + "hosts"   // asks the hub for all that it knows: []Seen, in several messages
	jobSubject   = prefix + "job"     // to all agents: Job
	jobsSubject  = prefix + "jobs"    // to all agents: Query
	leaseSubject = prefix + "lease."  // + job: the asker is there; with content, it asks for the time
	stopSubject  = prefix + "stop."   // + job: the agents end it
	againSubject = prefix + "again."  // + job: the asker lacks frames, which mergers may have: Again
	matesSubject = prefix + "mergers" // mergers tell each other that they are there: mate
	sumSubject   = prefix + "sum."    // + job: frames of several hosts to the asker, answered by Taken
	sumsSubject  = prefix + "sums."   // + slot.job: the same to the merger above
)

// Headers of messages about a job.
const (
	mergerHeader  = "Ppscript-Merger"
	droppedHeader = "Ppscript-Dropped" // frames that found no room while nobody took them
	keyHeader     = "Ppscript-Key"     // the public key that signed a job, and the signature
	signHeader    = "Ppscript-Signature"
	treeHeader    = "Ppscript-Tree" // the route of a frame by mergers
)

const (
	beatTime  = time.Minute
	leaseTime = 2 * time.Second  // how often a lease is renewed
	clockTime = 30 * time.Second // how often clocks are compared
	lostTime  = 10 * time.Second // after so long without one, a job ends
	// awayTime is how long a job goes on while the server cannot be reached.
	awayTime = time.Minute
	// answerTime is how long answers of agents are waited for.
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
	Works   string            `json:"works"` // what tracing works, in a word
	Jobs    int               `json:"jobs"`
	Began   time.Time         `json:"began"`
	Gone    bool              `json:"gone,omitempty"` // it ends in order
}

// HostAge is a host with the time since its last message.
type HostAge struct {
	Host
	AgoSeconds float64 `json:"ago_seconds"`
}

// A Job is what agents shall run.
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
	Stored   string        `json:"stored,omitempty"` // its SHA-256, if it is in the object store
	Tree     *Tree         `json:"tree,omitempty"`   // of mergers; nil has frames sent to the asker
	// Keep is how long it goes on, and keeps its results, while the asker is cut off; 0 is lostTime.
	Keep time.Duration `json:"keep_ns,omitempty"`
}

// A Request is a script with its options, as the command line of the asker has them.
type Request struct {
	Name    string   `json:"name"`
	Options []Option `json:"options,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// An Option is one with its values.
type Option struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"`
	Bare   bool     `json:"bare,omitempty"` // it has no value
	// Own says that the script declares it.
	Own bool `json:"own,omitempty"`
}

// String is the request as one would write it.
func (r *Request) String() string { return strings.Join(r.words(), " ") }

// words are the request's words on a command line.
func (r *Request) words() []string {
	return append(append([]string{r.Name}, r.options()...), r.Args...)
}

// options are those of its words that are options.
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

// An Answer says whether an agent runs a job.
type Answer struct {
	Host  string    `json:"host"`
	Error string    `json:"error,omitempty"`
	Hint  string    `json:"hint,omitempty"`
	Now   time.Time `json:"now"` // on its clock
}

// JobEnd says that a job has ended on a host.
type JobEnd struct {
	Host   string `json:"host"`
	Error  string `json:"error,omitempty"`
	Frames uint64 `json:"frames"` // that it made
	// Dropped are those of them that found no room while nobody took them.
	Dropped uint64 `json:"dropped,omitempty"`
}

// A Query asks agents for their jobs, or for what one of them said; "" is all. They answer with its number.
type Query struct {
	ID  string `json:"id"`
	Job string `json:"job,omitempty"`
}

// A Running is a job on a host.
type Running struct {
	Host    string    `json:"host"`
	Job     string    `json:"job"`
	By      string    `json:"by"`
	Words   string    `json:"words"`
	Began   time.Time `json:"began"`
	Frames  uint64    `json:"frames"`
	Waiting int       `json:"waiting"` // frames that nobody took yet
	Over    bool      `json:"over,omitempty"`
	Error   string    `json:"error,omitempty"`
	Log     []string  `json:"log,omitempty"`
}

// fits reports that a host has all labels, whose values are "*" for any.
func fits(labels, host map[string]string) bool {
	for k, v := range labels {
		if got, ok := host[k]; !ok || v != "*" && v != got {
			return false
		}
	}
	return true
}

// must is the JSON of a message, which is of our own types.
func must(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}
