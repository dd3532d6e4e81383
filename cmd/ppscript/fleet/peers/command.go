package peers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ppscript/cmd/ppscript/fleet/token"
	"ppscript/runtime/source/identity"
)

const (
	keySuffix  = ".key"
	certSuffix = ".crt"
)

// Command returns the subcommand tls, which writes to out.
func Command(out io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use: "tls new NAME | tls show FILE...", Short: "Make and show keys of hosts that send events to each other",
		Long: `TLS 1.3 encrypts events that are sent over a network (push=IP:PORT, pull=IP:PORT), and both sides authenticate themselves: each shows a certificate that the other side has, or that was signed by an authority that the other side trusts.

new NAME makes NAME.key, which only you can read, and NAME.crt for the peers that should trust it. show prints names, fingerprints and validity of certificates. A file of --tls-peers may have several: cat *.crt >peers.`,
		Example: `    web1$ ppscript tls new web1      # web1.crt goes to ops
    ops$ ppscript tls new ops        # ops.crt goes to web1
    web1$ ppscript top -e 'sched:*//push="192.0.2.1:9900"/' \
              --tls-key web1.key --tls-peers ops.crt
    ops$ ppscript top -e 'sched:*//pull="192.0.2.1:9900"/' \
              --tls-key ops.key --tls-peers web1.crt
    ppscript tls new fleet --authority   # for many: --tls-peers fleet.crt
    ppscript tls new web1 --by fleet.key # where the authority's key is`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCommand(out), showCommand(out))
	return c
}

func newCommand(out io.Writer) *cobra.Command {
	var by string
	days := 730
	w := identity.CertRequest{}
	c := &cobra.Command{
		Use: "new NAME", Short: "Make a key and its certificate",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return wrongf("tls", "new", "got %d names, want one", len(args)).
					WithHint("write: ppscript tls new NAME")
			case days < 1 || days > 100*365:
				return wrongf("option", "--days", "got %d, want 1 to %d", days, 100*365).
					WithHint("write --days 730")
			}
			path := strings.TrimSuffix(args[0], keySuffix)
			w.Name, w.Valid = filepath.Base(path), time.Duration(days)*24*time.Hour
			if by != "" {
				var err error
				if w.By, err = token.ReadSecret("read key", by, maxFile,
					"make an authority: ppscript tls new NAME --authority"); err != nil {
					return err
				}
			}
			secret, public, err := identity.Make(w, time.Now())
			if err != nil {
				return wrongf("make key", args[0], "%w", err).
					WithHint("make an authority: ppscript tls new NAME --authority; see what is there: ppscript tls show FILE")
			}
			if err := write(path+keySuffix, secret, 0o600); err != nil {
				return err
			}
			if err := write(path+certSuffix, public, 0o644); err != nil {
				return errors.Join(err, os.Remove(path+keySuffix))
			}
			lines, err := show(public)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "%s\n%s is secret; %s is for the other side's --tls-peers\n",
				strings.Join(lines, "\n"), path+keySuffix, path+certSuffix)
			return err
		},
	}
	c.Flags().IntVar(&days, "days", days, "how long it is valid: `N` days")
	c.Flags().BoolVar(&w.Authority, "authority", false,
		"the certificate can sign other certificates, which are then trusted where this one is")
	c.Flags().StringVar(&by, "by", "", "the authority that signs: the `FILE` of its key")
	return c
}

func showCommand(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "show FILE...", Short: "Show the certificates of files",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongf("tls", "show", "got no file").WithHint("write: ppscript tls show FILE")
			}
			for _, path := range args {
				text, err := read(path)
				if err != nil {
					return err
				}
				lines, err := show(text)
				if err == nil && len(lines) == 0 {
					err = errors.New("it has no certificate")
				}
				if err != nil {
					return wrongf("read certificates", path, "%w", err).
						WithHint("make a key and a certificate: ppscript tls new NAME")
				}
				if _, err := fmt.Fprintln(out, strings.Join(lines, "\n")); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
