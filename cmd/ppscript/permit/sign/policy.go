package sign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ppscript/runtime/text/diag"
)

// Options has the options about signatures. They are read from the words of the command line before
// anything is loaded.
type Options struct {
	Require bool
	Signers string // path of the file of signers; "" is the machine's
}

// OptionsIn finds the options in the words of a command line, up to "--". A word that could be the
// option or the value of another option is read as the option, which is stricter.
func OptionsIn(args []string) (o Options) {
	for i, word := range args {
		if word == "--" {
			break
		}
		name, value, given := strings.Cut(word, "=")
		switch strings.ReplaceAll(name, "_", "-") {
		case "--require-signed":
			o.Require = true
		case "--signers":
			if o.Signers = value; !given && i+1 < len(args) {
				o.Signers = args[i+1]
			}
		}
	}
	return o
}

// Policy returns the signers whose scripts may run; nil permits every script. machine is the path
// SignersFile. The machine's file is an error if anybody but root can change it. If it requires
// signatures, only its own keys are accepted, not another file of --signers.
func Policy(o Options, machine string) (*Signers, error) {
	s, err := MachineSigners(machine)
	none := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !none:
		return nil, err
	case s.Required:
		if o.Signers != "" && o.Signers != machine {
			return nil, diag.Errorf(diag.Usage, "option", "--signers",
				"here only scripts run that a key of %s signed", machine).WithHint("leave out --signers")
		}
		return &s, nil
	case !o.Require:
		return nil, nil
	case o.Signers != "":
		s, err = ReadSigners(o.Signers)
	}
	if err != nil {
		return nil, err
	}
	s.Required = true
	return &s, nil
}

// MachineSigners reads a file of signers. It is an error if anybody but root
// can change it.
func MachineSigners(path string) (Signers, error) {
	s, err := ReadSigners(path)
	if err == nil {
		err = RootsOwn(path)
	}
	return s, err
}

// RootsOwn is an error unless only root can change a file: it belongs to root, nobody else may
// write to it, and the same holds for all directories above it.
func RootsOwn(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return diag.FileError("check", at, err).OrHint("look: ls -ld %s", at)
		}
		mode := info.Mode()
		sticky := at != path && mode&fs.ModeSticky != 0 && mode.IsDir()
		switch uid := owner(info); {
		case mode&fs.ModeSymlink != 0:
			return diag.Errorf(diag.Usage, "check", at, "is a link: to change it changes what counts").
				WithHint("name the file itself")
		case uid != 0:
			return diag.Errorf(diag.Usage, "check", at, "belongs to user %d, and not to root", uid).
				WithHint("chown root %s", at)
		case mode.Perm()&0o022 != 0 && !sticky:
			return diag.Errorf(diag.Usage, "check", at, "others can change it: got mode %04o", mode.Perm()).
				WithHint("chmod go-w %s", at)
		}
		if at == "/" {
			return nil
		}
	}
}

// owner returns the ID of the user who owns a file; -1 if it is not known.
func owner(info fs.FileInfo) int {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}
