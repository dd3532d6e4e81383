package fleet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
)

// A Program has the parts of the command line that this package uses.
type Program struct {
	Version string
	Token   string // secret from the environment
	Stdout  io.Writer
	Say     func(line string)
	// Shipped reports that a name is a script that comes with the program, Common that it is an
	// option of every script, and Script that a word names any script.
	Shipped, Common, Script func(name string) bool
	// Ask runs a script on the machines of a, instead of here. words are the
	// command line.
	Ask func(a *Asker, words []string) error
	// Exec runs a script from the directory of an unpacked bundle.
	Exec func(dir string, words []string) error
	// Confine enters the sandbox for a process that needs only network connections.
	Confine func()
	// Tell writes an entry about a job into the machine's journal.
	Tell func(j *Job, began time.Time, frames uint64, err error)
}

// Commands returns the subcommands hub, merger, agent and fleet.
func (p *Program) Commands() []*cobra.Command {
	return []*cobra.Command{p.hub(), p.merger(), p.agent(), p.fleet()}
}

func (p *Program) server(fs *pflag.FlagSet) *Server {
	s := &Server{token: p.Token}
	fs.StringVar(&s.URL, "hub", "",
		"`URL` of the hub, or of a NATS server or cluster (default $"+HubVariable+", "+
			defaultHub+")")
	fs.StringVar(&s.TokenFile, "token-file", "",
		"`FILE` with the secret for the server (default: $PPSCRIPT_TOKEN)")
	fs.StringVar(&s.Creds, "creds", "", "`FILE` with credentials of a NATS account")
	fs.StringVar(&s.NKey, "nkey", "", "`FILE` with the seed of an nkey, to authenticate to a NATS server")
	fs.StringVar(&s.CA, "tls-ca", "",
		"`FILE` with the certificate authorities of the server (default: the machine's)")
	fs.StringVar(&s.Cert, "tls-cert", "", "`FILE` with this side's certificate, if the server requires one")
	fs.StringVar(&s.Key, "tls-key", "", "`FILE` with the key of --tls-cert")
	return s
}

func untilSignal(c *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
}

func (p *Program) hub() *cobra.Command {
	h := &Hub{Say: p.Say}
	host := ""
	c := &cobra.Command{
		Use: "hub [--listen HOST:PORT]", Short: "Run the server at which agents and askers of a fleet meet",
		Long: `Runs a NATS server to which agents and askers of a fleet connect, and keeps the list of hosts. If other machines can connect, it needs a secret (--token-file) or certificates of clients (--tls-cert, --tls-key, --tls-ca).

With --hub URL it runs no server, and only keeps the list of hosts, at your own NATS server or cluster. That needs accounts and permissions by subject: docs/fleet.md.

Anyone with the secret can ask, and can act as any host. Give each agent a secret of its own, made by --token-for: with that it can act only as its host, and cannot ask. With certificates, an agent can act only as the host that its certificate names.`,
		Example: "    ppscript hub\n    ppscript hub --listen 10.0.0.1:4222 --token-file /etc/ppscript/fleet-token\n" +
			"    ppscript hub --token-file /etc/ppscript/fleet-token --token-for db1 >db1.token",
		Args: cobra.NoArgs,
	}
	fs := c.Flags()
	fs.StringVar(&h.Listen, "listen", "127.0.0.1:4222", "`ADDRESS` to listen at")
	fs.BoolVar(&h.NoMerger, "no-merger", false,
		"do not merge results of hosts here; let other mergers do it: ppscript merger")
	s := p.server(fs)
	fs.StringVar(&host, "token-for", "",
		"print a secret for the host `NAME`, derived from the secret in --token-file: with it an agent can act only as this host")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if host != "" {
			return p.hostToken(s, host)
		}
		h.Server = *s
		if s.URL == "" { // the certificates are for the hub's own server
			h.Cert, h.Key, h.CA = s.Cert, s.Key, s.CA
		}
		if err := h.elsewhere(); err != nil {
			return err
		}
		p.Confine()
		ctx, stop := untilSignal(c)
		defer stop()
		return h.Run(ctx)
	}
	return c
}

// hostToken prints the secret of a host.
func (p *Program) hostToken(s *Server, host string) error {
	secret, err := s.secret()
	if err != nil {
		return err
	}
	if secret == "" || tokenName(secret) != "" || namesFit("host", host) != nil {
		return diag.Errorf(diag.Usage, "make token", host, "want the secret of the hub, and a name").
			WithHint("write: ppscript hub --token-file FILE --token-for NAME")
	}
	_, err = fmt.Fprintln(p.Stdout, HostToken(secret, host))
	return err
}

func parseLabels(option string, texts []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range texts {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" || v == "" || len(text) > 200 || strings.ContainsFunc(text, unicode.IsControl) {
			return nil, diag.Errorf(diag.Usage, "option", "--"+option, "got %q, want NAME=VALUE", text).
				WithHint("write --%s role=db,rack=r7", option)
		}
		labels[k] = v
	}
	return labels, nil
}

func (p *Program) fleet() *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet hosts | run | jobs | stop | logs",
		Short: "Ask many machines one question, and get one answer",
		Long: `Asks machines with agents (ppscript agent). "fleet run" runs a profiler on all machines that have the labels, and shows one result: sums, quantiles,
histograms and stacks of all machines, as exact as if one machine had seen all events. A result names the hosts that are missing in it.`,
		Example: "    ppscript fleet hosts role=db\n    ppscript fleet run -l role=db -i 10s syscalls --than 5ms",
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, talk := range []*cobra.Command{p.hosts(), p.jobs(), p.stop(), p.logs()} {
		talk.PreRun = func(*cobra.Command, []string) { p.Confine() } // before it receives data of others
		c.AddCommand(talk)
	}
	c.AddCommand(p.run(), p.exec(), p.remote()) // these enter the sandbox as a run does
	return c
}

// exec returns the hidden subcommand by which agents run scripts that were sent
// with a job.
func (p *Program) exec() *cobra.Command {
	return &cobra.Command{Use: "exec DIR [options]", Short: "Run a script that travelled here",
		Hidden:             true,
		DisableFlagParsing: true, Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return p.Exec(args[0], args[1:]) }}
}

func (p *Program) hosts() *cobra.Command {
	asJSON := false
	c := &cobra.Command{Use: "hosts [NAME=VALUE...]", Short: "Show the hosts that have agents",
		Long: "Shows the hosts in the hub's list, or only the ones with the labels: what they run, and the time since their last report. " +
			"Agents report once a minute."}
	s := p.server(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "a line of JSON for each host")
	c.RunE = func(c *cobra.Command, args []string) error {
		labels, err := parseLabels("label", args)
		if err != nil {
			return err
		}
		nc, err := s.connect("fleet hosts", "", false)
		if err != nil {
			return err
		}
		defer nc.Close()
		list, known, err := hosts(c.Context(), nc, labels)
		if err != nil {
			return err
		}
		if !known {
			return diag.Errorf(diag.Run, "ask", s.URL, "no hub keeps a list of hosts there").
				WithHint("start: ppscript hub --hub %s", s.URL)
		}
		return showHosts(p.Stdout, list, asJSON)
	}
	return c
}

func showHosts(to io.Writer, list []HostAge, asJSON bool) error {
	if asJSON {
		for _, h := range list {
			if _, err := to.Write(append(must(h), '\n')); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{{"HOST", "LABELS", "KERNEL", "ARCH", "CPUS", "VERSION", "TRACING", "JOBS",
		"HEARD"}}
	for _, h := range list {
		heard := "now"
		if h.AgoSeconds > 1.5*beatTime.Seconds() {
			heard = time.Duration(h.AgoSeconds*float64(time.Second)).Round(time.Second).String() + " ago"
		}
		rows = append(rows, []string{h.Name, labelText(h.Labels), h.Kernel, h.Arch,
			fmt.Sprint(h.CPUs), h.Version,
			h.Works, fmt.Sprint(h.Jobs), heard})
	}
	return columns(to, rows)
}

// columns writes a table. Its cells may be text from elsewhere.
func columns(to io.Writer, rows [][]string) error {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = plain.Line(cell)
			width[i] = max(width[i], len(row[i]))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s  ", width[i], cell)
		}
		if _, err := fmt.Fprintln(to, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func (p *Program) run() *cobra.Command {
	a := &Asker{}
	var labels texts
	by := ""
	c := &cobra.Command{
		Use:   "run [-l NAME=VALUE,...] [--by host] SCRIPT [options]",
		Short: "Run a profiler on many hosts, with one result",
		Long: `Runs a profiler on the hosts that have the labels, or on all hosts, until Ctrl-C or for --duration. The results of the hosts are merged
at the end of each interval, which is aligned to the wall clock, and shown like the results of one machine: all options about output
work. A result that lacks hosts says so: "997 of 1000 hosts; missing: ...". --by host keeps hosts apart. --outliers names hosts whose
numbers differ from the others', and the rows in which they do; ppscript help fleet says how they are compared.

With --ssh it runs on hosts where nothing is installed, by your ssh with its settings: a copy of this program is sent there, and removed when
the run ends.

With --files it merges and shows the files that "ppscript SCRIPT --partials -o FILE" wrote on some machines, without a hub.`,
		Example: "    ppscript fleet run -l role=db -i 10s syscalls --than 5ms\n" +
			"    ppscript fleet run --by host --duration 10s profile -g --flame-graph fleet.svg\n" +
			"    ppscript fleet run --ssh hosts.txt -i 10s syscalls\n" +
			"    ppscript fleet run --files a.parts,b.parts syscalls",
		DisableFlagParsing: true,
	}
	fs := c.Flags()
	s := p.server(fs)
	fs.VarP(&labels, "label", "l", "`NAME=VALUE`,... that hosts must have; * is any value")
	fs.StringVar(&by, "by", "", "`host`: keep hosts apart")
	fs.BoolVar(&a.Outliers, "outliers", false,
		"name the hosts whose numbers differ from the others', and the rows in which they do")
	fs.IntSliceVar(&a.Parts, "parts", nil, "into how many parts mergers divide the hosts, on each level: "+
		"`N`,... (default by their number; 0: all hosts send their results here)")
	fs.DurationVar(&a.Late, "late", defaultLate, "how long a result waits for hosts that are late: `TIME`")
	fs.DurationVar(&a.Keep, "keep", 0,
		"how long hosts go on and keep their results while they cannot reach this machine: `TIME` (default 10s)")
	fs.StringVar(&a.Key,
		"key", "", "sign the job with the key in `FILE`, for hosts whose policy names askers")
	a.Shell.flags(fs)
	fs.Var((*texts)(&a.Files), "files", "`FILE`,... of --partials, in place of hosts")
	c.RunE = func(c *cobra.Command, args []string) error {
		own, rest := p.split(fs, args)
		if err := fs.Parse(own); err != nil {
			return diag.Errorf(diag.Usage, "fleet run", "", "%w", err).
				WithHint("see: ppscript fleet run --help")
		}
		var err error
		if help, _ := fs.GetBool("help"); help {
			return c.Help()
		}
		if a.Labels, err = parseLabels("label", labels); err != nil {
			return err
		}
		switch by {
		case "", "host":
			a.ByHost = by != ""
		default:
			return diag.Errorf(diag.Usage, "option", "--by", "got %q, want host", by).
				WithHint("write --by host")
		}
		if len(rest) == 0 {
			return diag.Errorf(diag.Usage, "fleet run", "", "no script named").
				WithHint("write: ppscript fleet run -l role=db syscalls; ppscript list shows the profilers")
		}
		if a.ByShell() && (len(a.Files)+len(a.Parts) > 0 || a.Key != "" || a.Keep != 0) {
			return diag.Errorf(diag.Usage, "option", "--ssh",
				"it has no use for --files, --key, --keep and --parts").
				WithHint("leave one of them out")
		}
		if _, err := parseRoute("", partsText(a.Parts)); err != nil {
			return diag.Errorf(diag.Usage, "option", "--parts", "got %v, want numbers of parts, 4 at most",
				a.Parts).WithHint("leave it out, or write --parts 8, or --parts 40,4")
		}
		a.Server = *s
		return p.Ask(a, rest)
	}
	return c
}

// split splits the words of fleet run: own are its own options before the script's name, rest are
// the script and the options of the script.
func (p *Program) split(fs *pflag.FlagSet, args []string) (own, rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, valued := strings.Cut(args[i], "=")
		var f *pflag.Flag
		switch {
		case strings.HasPrefix(name, "--"):
			f = fs.Lookup(name[2:])
		case len(name) == 2 && name[0] == '-' && name[1] != '-':
			f = fs.ShorthandLookup(name[1:])
		case !strings.HasPrefix(name, "-") && p.Script(args[i]):
			return own, append(rest, args[i:]...)
		}
		switch {
		case name == "--help" || name == "-h":
			own = append(own, "--help")
		case f == nil:
			rest = append(rest, args[i])
		case f.NoOptDefVal != "": // the option has no value
			own = append(own, args[i])
		default:
			if own = append(own, args[i]); !valued && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		}
	}
	return own, rest
}

// ask asks all agents for their jobs, or for one job and its messages.
func (p *Program) ask(ctx context.Context, s *Server, job string) (list []Running, nc *nats.Conn,
	err error) {
	nc, err = s.connect("fleet jobs", "", false)
	if err != nil {
		return nil, nil, err
	}
	q := Query{ID: newID(), Job: job}
	to := runningSubject + q.ID + "."
	sub, err := nc.SubscribeSync(to + "*")
	if err == nil {
		err = nc.PublishRequest(jobsSubject, to+nobody, must(q))
	}
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	// Agents without jobs do not answer, so the number of answers is not known.
	wait := time.Second
	for {
		once, cancel := context.WithTimeout(ctx, wait)
		m, err := sub.NextMsgWithContext(once)
		cancel()
		if err != nil || m.Header.Get("Status") == "503" {
			slices.SortFunc(list, func(a, b Running) int {
				return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.Job+a.Host, b.Job+b.Host))
			})
			return list, nc, nil
		}
		var part runningJobs
		host := speaker(m.Subject)
		if host == "" || read(m.Data, &part) != nil || len(list)+len(part) > mostRunning {
			continue
		}
		for i := range part {
			part[i].Host = host
		}
		list = append(list, part...)
	}
}

func (p *Program) jobs() *cobra.Command {
	c := &cobra.Command{Use: "jobs", Short: "Show what runs on which hosts", Args: cobra.NoArgs}
	s := p.server(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		list, nc, err := p.ask(c.Context(), s, "")
		if err != nil {
			return err
		}
		defer nc.Close()
		byJob := map[string][]Running{}
		var order []string
		for _, r := range list {
			if byJob[r.Job] == nil {
				order = append(order, r.Job)
			}
			byJob[r.Job] = append(byJob[r.Job], r)
		}
		rows := [][]string{{"JOB", "BY", "SINCE", "HOSTS", "WHAT"}}
		for _, id := range order {
			all := byJob[id]
			rows = append(rows, []string{id, all[0].By, all[0].Began.Local().Format(time.TimeOnly),
				fmt.Sprint(len(all)),
				all[0].Words})
		}
		if len(order) == 0 {
			_, err := fmt.Fprintln(p.Stdout, "no jobs run")
			return err
		}
		return columns(p.Stdout, rows)
	}
	return c
}

func (p *Program) stop() *cobra.Command {
	c := &cobra.Command{Use: "stop JOB", Short: "End a job on all hosts", Args: cobra.ExactArgs(1)}
	s := p.server(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		list, nc, err := p.ask(c.Context(), s, args[0])
		if err != nil {
			return err
		}
		defer nc.Close()
		n := 0
		for _, r := range list {
			if !r.Over {
				n++
			}
		}
		if n == 0 {
			return diag.Errorf(diag.Run, "stop", args[0], "no host runs that job").
				WithHint("see: ppscript fleet jobs")
		}
		if err := nc.Publish(stopSubject+args[0], nil); err != nil {
			return err
		}
		if err := nc.Flush(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Stdout, "%s ends on %d hosts\n", args[0], n)
		return err
	}
	return c
}

func (p *Program) logs() *cobra.Command {
	c := &cobra.Command{Use: "logs JOB",
		Short: "Show the messages of a job on its hosts, also after its end", Args: cobra.ExactArgs(1),
		Long: "Shows the messages of a job on each host. A host keeps 50 lines of each of its last 32 jobs."}
	s := p.server(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		list, nc, err := p.ask(c.Context(), s, args[0])
		if err != nil {
			return err
		}
		defer nc.Close()
		if len(list) == 0 {
			return diag.Errorf(diag.Run, "logs", args[0], "no host knows that job").
				WithHint("see: ppscript fleet jobs")
		}
		for _, r := range list {
			state := "runs"
			if r.Over {
				state = "is over"
			}
			if r.Error != "" {
				state += ": " + r.Error
			}
			lines := append([]string{fmt.Sprintf("%s, %d frames made, %d wait", state, r.Frames,
				r.Waiting)}, r.Log...)
			for _, line := range lines {
				if _, err := fmt.Fprintln(p.Stdout, plain.Line(r.Host+": "+line)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return c
}
