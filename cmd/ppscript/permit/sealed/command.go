package sealed

import (
	"errors"
	"fmt"
	"io"
	"os"

	"ppscript/runtime/system/infile"
	"ppscript/runtime/text/diag"
)

// Help is the help text of the command sealed. It also explains the file of
// rules.
const Help = `Runs a script if a rule of root permits it. Rules say which users may run which scripts, with which options. Everything else is refused before the script is read, or an option has an effect. The user is the one that sudo reports; environment variables are ignored. Let users start this command with sudo, and no other of ppscript:

    %ops  ALL=(root) NOPASSWD: /usr/local/bin/ppscript sealed *        # /etc/sudoers.d/ppscript

The rules are in ` + File + `, which only root can change.
A line has users, a script, and the permitted options:

    alice,%ops  syscalls             --pids=* --than=100us..1s --interval=1s..
    #1000       runqlat              --duration=..1m --interval=1s
    %dev        /opt/perf/disk.star  sha256=9f86d081884c... --device=sd[a-z]
    %dev        /opt/perf/net.star   signed=ops arg=eth* --output=/var/log/perf/* write=/var/log/perf

    ALL, alice, #1000, %group, %#100   users; several with commas
    NAME, or /PATH with sha256=HASH or signed=KEY
                                       the script: one of ppscript, or a file with this hash, or a file that a key in
                                       /etc/ppscript/signers signed (KEY is a name or fingerprint; signed means any key)
    --OPTION                           an option without a value
    --OPTION=VALUES                    patterns, or ranges LOW..HIGH of numbers, times or sizes; alternatives with |. Events and items
                                       of a list are matched one by one, and * stands for nothing that has .. in it
    --event=SYSTEM:NAME/FILTER/NAME=VALUE/
                                       push=, pull=, exec=, vm= and expressions of events, files of probes ('uprobe:*@"/usr/bin/*"') and
                                       options of profilers among events only as far as the pattern has them
    arg=PATTERN                        an argument of the script
    exec=PATTERN                       a command behind --, which runs as root: its words are matched one by one, "/usr/bin/make *" has
                                       one argument, "/usr/bin/make **" any
    write=DIR, net=ADDRESS             where files may be written, and the addresses that the run may talk to. Options that name
                                       files need both their values and write=; only root may be able to write to DIR

A line is continued after a \. Groups are the groups of /etc/group.`

// List writes the rules that apply to the caller. known is the function that
// Read wants.
func List(to io.Writer, known func(string) string) error {
	p, err := Read(File, known)
	if err != nil {
		return err
	}
	who := Caller()
	rules := p.For(who, "")
	if len(rules) == 0 {
		_, err = fmt.Fprintf(to, "%s may run nothing\n", who)
		return err
	}
	for _, r := range rules {
		if _, err := fmt.Fprintln(to, r); err != nil {
			return err
		}
	}
	return nil
}

// CheckFile finds mistakes in a file of rules: syntax errors, scripts that are missing or have
// other contents, and options that a script lacks. Its messages quote the file, so a user who got
// root's rights from sudo may check only root's own file of rules.
func CheckFile(to io.Writer, path string, known func(string) string,
	lacks func(script, option string) (bool, error)) error {
	if who := Caller(); who.ID != os.Getuid() && path != File {
		return diag.Errorf(diag.Usage, "sealed", path, "%s may have only %s checked", who, File).
			WithHint("check a file of your own without sudo: ppscript sealed --check %s", path)
	}
	text, err := infile.Read(path, mostRules)
	if err != nil {
		return diag.FileError("sealed", path, err).OrHint("look: ls -l %s", path)
	}
	p, err := Parse(path, string(text), known)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range p.Rules {
		errs = append(errs, r.Check(), r.checkOptions(lacks))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s: %d rules\n", path, len(p.Rules))
	return err
}
