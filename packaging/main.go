// Packaging builds the files of a release: packages for Debian and Fedora, tar
// files, and a container image, for amd64 and arm64, with manual pages,
// completions and a bill of materials.
//
//	make dist                       # into dist/
//	go run ./packaging -o DIR -arch amd64
//
// The same commit gives the same bytes: all time stamps are the time of the
// commit.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	var d distribution
	arches := flag.String("arch", "amd64,arm64", "architectures, as Go names them: `LIST`")
	flag.StringVar(&d.out, "o", "dist", "the `folder` to write to")
	flag.StringVar(&d.program, "binary", "",
		"pack this executable `FILE`, for one architecture, instead of a build")
	flag.StringVar(&d.version, "version", "", "the version (default: from git)")
	flag.StringVar(&d.prefix, "prefix", "/usr", "the `folder` that tree has in place of /usr")
	flag.BoolVar(&d.hub, "hub", false, "install "+hubName+", the server of hubs, with tree as well")
	only := flag.String("only", "tar,deb,rpm,bill,image",
		"what to make: `LIST`; tree alone installs: the files themselves, below -o and -prefix")
	flag.Parse()
	d.arches, d.kinds = strings.Split(*arches, ","), strings.Split(*only, ",")
	if err := d.make(); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// A distribution has the options of a call, and builds all files from one
// commit.
type distribution struct {
	out     string
	arches  []string
	program string // path of a ready executable; "": build it
	kinds   []string
	prefix  string
	hub     bool
	version string    // 1.2.3, or 0~20260102.0123456789ab between versions
	time    time.Time // of the commit
	work    string    // temporary directory for files to pack
}

// A file is a file to pack: its contents are in Source, and it will be
// installed at Path.
type file struct {
	Path, Source string
	Mode         os.FileMode
}

// make builds the programs and packs them.
func (d *distribution) make() (err error) {
	if d.program != "" && len(d.arches) != 1 {
		return fmt.Errorf("option -binary: it is of one architecture; give it with -arch")
	}
	if err := d.commit(); err != nil {
		return err
	}
	if d.work, err = os.MkdirTemp("", "packaging"); err != nil {
		return err
	}
	defer os.RemoveAll(d.work)
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return err
	}
	if d.program == "" && !slices.Equal(d.kinds, []string{"tree"}) {
		warn()
	}
	// The server of hubs would be a fifth of the program, and few machines are
	// hubs, so it has a package of its own.
	programs, hubs := map[string]string{}, map[string]string{}
	tree := slices.Equal(d.kinds, []string{"tree"})
	for _, arch := range d.arches {
		if programs[arch], err = d.build(arch, "nohub"); err != nil {
			return err
		}
		if d.program != "" {
			hubs[arch] = programs[arch]
		} else if d.hub || !tree {
			if hubs[arch], err = d.build(arch, ""); err != nil {
				return err
			}
		}
	}
	shared, err := d.shared(programs)
	if err != nil {
		return err
	}
	for _, arch := range d.arches {
		files := append([]file{{"/usr/bin/ppscript", programs[arch], 0o755}}, shared...)
		slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.Path, b.Path) })
		if err := d.pack(arch, "ppscript", programs[arch], files); err != nil {
			return err
		}
		if d.hub || !tree {
			hub := []file{{"/usr/bin/" + hubName, hubs[arch], 0o755}}
			if err := d.pack(arch, hubName, hubs[arch], hub); err != nil {
				return err
			}
		}
	}
	if slices.Contains(d.kinds, "image") {
		if err := d.image(hubs); err != nil { // the same image serves agents and hubs
			return err
		}
	}
	if tree {
		return nil
	}
	return d.sums()
}

// hubName is the name of the package with the server of hubs, and of its program
// (fleet.ServerProgram).
const hubName = "ppscript-hub"

// pack makes the files of one package for one architecture.
func (d *distribution) pack(arch, name, program string, files []file) error {
	for _, kind := range d.kinds {
		var err error
		switch kind {
		case "tar":
			err = d.tarball(arch, name, files)
		case "deb", "rpm":
			err = d.packed(arch, kind, name, files)
		case "tree":
			err = d.tree(files)
		case "bill":
			err = d.bill(arch, name, program)
		case "image": // made once for all architectures
		default:
			err = fmt.Errorf("option -only: there is no %q; want tar, deb, rpm, tree, bill, image", kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// say prints progress, since a call takes minutes.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// path returns the path of a file in the output directory.
func (d *distribution) path(name string) string { return filepath.Join(d.out, name) }

// base returns the beginning of the file names of a package for arch.
func (d *distribution) base(arch, name string) string {
	return fmt.Sprintf("%s-%s-linux-%s", name, d.version, arch)
}
