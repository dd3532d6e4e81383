package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ppscript/cmd/ppscript/permit/sealed"
	"ppscript/cmd/ppscript/permit/sign"
	"ppscript/runtime/script"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"

	"github.com/spf13/cobra"
)

// This file decides by signatures which scripts may run, and has the commands sign and verify.

// vetting says which scripts may run; the zero value permits all.
type vetting struct {
	signers *sign.Signers // keys of which one must have signed the script
	vetter  *sign.Vetter  // the vetter of the host that was made last
	gate    *sealed.Gate  // set by sealed: its rules are checked instead of signers
}

// harmless lists the subcommands that run no script, or run scripts only to describe them.
var harmless = []string{"check", "completion", "describe", "diff", "doc", "doctor", "explain", "fmt", "help",
	"info", "list", "resolve", "sealed", "mod", "new", "sign", "test", "tls", "usdt", "verify", "version"}

// vet reads the settings about signatures, before a script is loaded.
func (a *app) vet(args []string, prompt bool) (err error) {
	if len(args) > 0 && slices.Contains(harmless, args[0]) {
		return nil
	}
	if a.vetting.signers, err = sign.Policy(sign.OptionsIn(args), sign.SignersFile); err != nil {
		return err
	}
	if a.vetting.signers != nil && (prompt || len(args) > 0 && args[0] == "repl") {
		return unsigned("the prompt")
	}
	return nil
}

// unsigned is the error about programs that have no file to be signed.
func unsigned(what string) error {
	return usagef("verify", what, "nobody signed it, and only signed scripts may run").
		WithHint("write it into a file, have that signed: ppscript sign KEY FILE.star, and run it")
}

// vetFor returns the function by which a host checks each file; nil permits all files.
func (v *vetting) vetFor(h *script.HostOptions) {
	if v.gate != nil {
		h.Vet = v.gate.Vet
	} else if v.signers != nil {
		v.vetter = &sign.Vetter{Signers: *v.signers}
		h.Vet = v.vetter.Vet
	}
}

func signCommand(a *app) *cobra.Command {
	var newKey string
	c := &cobra.Command{
		Use: "sign KEY FILE... | sign --new-key NAME", Short: "Sign scripts: vouch for them and all that they load",
		Long: `Writes FILE.sig, which has the SHA-256 of the script and of each file that it loads, signed with the ed25519 key in the file KEY. To find the loaded files, the script's top level is run. With --require-signed, or where the
machine's ` + sign.SignersFile + ` has a line require-signed,
a script runs only if a key in that file signed it, and no byte of it and of the files that it loads has changed.

--new-key NAME makes a key: the secret one in NAME, which only you can read, and the public one in NAME.pub. Its line goes
into ` + sign.SignersFile + ` of those who trust you.`,
		Example: "    ppscript sign --new-key ops\n    ppscript sign ops disk.star\n    ppscript verify --signers ops.pub disk.star",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if newKey == "" && len(args) < 2 || newKey != "" && len(args) > 0 {
				return usagef("sign", "", "got %d arguments, want a key and a script", len(args)).
					WithHint("write: ppscript sign KEY FILE..., or: ppscript sign --new-key NAME")
			}
			if newKey == "" {
				return a.sign(args[0], args[1:])
			}
			k, err := sign.NewKey(newKey)
			if err == nil {
				_, err = fmt.Fprintf(a.Text(), "%s signs, %[1]s.pub is for others: %[2]s\n", newKey,
					k.Fingerprint())
			}
			return err
		},
	}
	c.Flags().StringVar(&newKey, "new-key", "", "make a key: NAME and NAME.pub")
	return c
}

// writeSignature writes a file that every user may read: a signature is no secret.
func writeSignature(path string, text []byte) error {
	f, err := outfile.OpenNow(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

func (a *app) sign(key string, files []string) error {
	secret, err := sign.ReadSecret(key)
	if err != nil {
		return err
	}
	a.scriptTime = lookTime
	for _, name := range files {
		sums, main, err := a.sumsOf(name, nil)
		if err != nil {
			return err
		}
		text, err := secret.Sign(main, sums)
		if err != nil {
			return err
		}
		if err = writeSignature(name+sign.Suffix, text); err != nil {
			return diag.FileError("sign", name, err).
				OrHint("check the permissions of the directory: ls -ld %s", filepath.Dir(name))
		}
		if _, err = fmt.Fprintf(a.Text(), "%s: %s and %d files that it loads, by %s %s\n", name+sign.Suffix,
			name, len(sums)-1, secret.Name, secret.Fingerprint()); err != nil {
			return err
		}
	}
	return nil
}

// sumsOf loads the script in a file, without running its main, and returns the hashes of all files
// that it loaded.
func (a *app) sumsOf(name string, v *sign.Vetter) (sums map[string]sign.Sum, main string, err error) {
	if main, err = filepath.Abs(name); err != nil {
		return nil, "", err
	}
	opts, err := a.hostOptions()
	if err != nil {
		return nil, "", err
	}
	if v != nil {
		opts.Vet = v.Vet
	}
	host := script.NewHost(opts)
	if _, err := host.Load(name); err != nil {
		return nil, "", err
	}
	return host.Files(), main, nil
}

func verifyCommand(a *app) *cobra.Command {
	var signers string
	c := &cobra.Command{
		Use: "verify [--signers FILE] FILE...", Short: "Show who signed scripts",
		Long: `Says for each script whose signature it has, after comparing it and all that it loads with FILE.sig. Exits with 1 if one
has none of a key in --signers, or was changed since.`,
		Example: "    ppscript verify disk.star\n    ppscript verify --signers ops.pub disk.star",
		Args:    words(1, -1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.scriptTime = lookTime
			keys, err := sign.ReadSigners(cmp.Or(signers, sign.SignersFile))
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range args {
				v := &sign.Vetter{Signers: keys}
				if _, _, err := a.sumsOf(name, v); err != nil {
					errs = append(errs, err)
					continue
				}
				fmt.Fprintf(a.Text(), "%s: signed by %s %s, with %d files that it loads\n", name, v.By.Name,
					v.By.Fingerprint(), v.Files()-1)
			}
			return errors.Join(errs...)
		},
	}
	c.Flags().StringVar(&signers, "signers", "",
		"public keys whose signatures count (default "+sign.SignersFile+")")
	return c
}

// checkSigned reads --require-signed and --signers. vet has applied them before the script was loaded.
func checkSigned(r *reader, f *flag) {
	if f.name == "require-signed" && !r.on(f) {
		r.fail(usagef("option", "--require-signed", "it cannot be taken back").WithHint("leave it out"))
	}
}
