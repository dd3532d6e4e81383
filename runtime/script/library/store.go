package library

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	modzip "golang.org/x/mod/zip"

	"ppscript/runtime/text/diag"
)

// A store is the cache with the fetchers that fill it.
type store struct {
	settings Settings
	from     []fetcher
	mods     map[module.Version]*Mod
	trees    map[module.Version]*tree
	scratch  *scratch
}

func newStore(s Settings) (*store, error) {
	st := &store{settings: s, mods: map[module.Version]*Mod{}, trees: map[module.Version]*tree{},
		scratch: &scratch{cache: s.Cache}}
	var err error
	st.from, err = fetchers(s.Proxy, st.scratch)
	return st, err
}

func (st *store) close() error { return st.scratch.close() }

// mod returns the ppscript.mod of a version. The path in it must be the
// library's path, unless the library is a replacement.
func (st *store) mod(ctx context.Context, v module.Version, sum *sum, replacing bool) (*Mod, error) {
	m := st.mods[v]
	if m == nil {
		var err error
		if m, err = st.readMod(ctx, v, sum); err != nil {
			return nil, err
		}
		st.mods[v] = m
	}
	if m.Path != v.Path && !replacing {
		return nil, diag.Errorf(diag.Run, "library", v.Path+"@"+v.Version, "its %s says that it is %s",
			ModName, m.Path).
			WithHint("require it as %s", m.Path)
	}
	return m, nil
}

func (st *store) readMod(ctx context.Context, v module.Version, sum *sum) (*Mod, error) {
	if err := checkVersion(v); err != nil {
		return nil, err
	}
	name, err := st.file(v, ".mod")
	if err != nil {
		return nil, err
	}
	text, err := readRegular(name, maxMod)
	kept := err == nil
	if !kept {
		err = st.each(v, func(f fetcher) error {
			var err error
			text, err = f.mod(ctx, v)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	m, err := parseMod(v.Path+"@"+v.Version+"/"+ModName, text)
	if err != nil {
		return nil, err
	}
	if st.pinned(v.Path) {
		hash, err := hashMod(text)
		if err != nil {
			return nil, err
		}
		if err := sum.check(modKey(v), hash); err != nil {
			return nil, err
		}
	}
	if !kept {
		// Only a valid ppscript.mod with the pinned hash is stored in the
		// cache.
		err = write(name, text)
	}
	return m, err
}

// tree returns the files of a version, from its read-only directory.
func (st *store) tree(ctx context.Context, v module.Version, sum *sum) (*tree, error) {
	if t := st.trees[v]; t != nil {
		return t, nil
	}
	if err := checkVersion(v); err != nil {
		return nil, err
	}
	zipName, err := st.file(v, ".zip")
	if err != nil {
		return nil, err
	}
	dir, err := st.place(v)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		if _, err := os.Stat(zipName); err != nil {
			if err := st.download(ctx, v, zipName); err != nil {
				return nil, err
			}
		}
		if err := st.checkZip(v, zipName, sum); err != nil {
			return nil, err
		}
		if err := st.unpack(v, zipName, dir); err != nil {
			return nil, err
		}
	}
	t, err := readTree(dir, v.Path+"@"+v.Version, nil)
	if err != nil {
		return nil, (&diag.Error{Op: "library", Subject: v.Path + "@" + v.Version, Cause: err}).
			WithHint(removeHint, dir)
	}
	if err := st.checkTree(v, t, zipName, sum); err != nil {
		return nil, err
	}
	st.trees[v] = t
	return t, nil
}

const removeHint = "remove the copy, it is made anew: chmod -R u+w %[1]s; rm -r %[1]s"

// place returns the directory for a version.
func (st *store) place(v module.Version) (string, error) {
	escaped, err := module.EscapePath(v.Path)
	return filepath.Join(st.settings.Cache, filepath.FromSlash(escaped)+"@"+v.Version), err
}

// checkZip compares a fetched archive with the pinned hash, before it is unpacked.
func (st *store) checkZip(v module.Version, zipName string, sum *sum) error {
	if !st.pinned(v.Path) {
		return nil
	}
	hash, err := dirhash.HashZip(zipName, dirhash.Hash1)
	if err != nil {
		return &diag.Error{
			Op:      "read",
			Subject: zipName,
			Cause:   err,
			Hint:    "remove the file: it is fetched again",
		}
	}
	return sum.check(zipKey(v), hash)
}

// checkTree compares the files that will run with the pinned hash. A version
// that is not pinned yet is compared with its archive, if that exists.
func (st *store) checkTree(v module.Version, t *tree, zipName string, sum *sum) error {
	if !st.pinned(v.Path) {
		return nil
	}
	if !sum.has(zipKey(v)) {
		if _, err := os.Stat(zipName); err == nil {
			if err := st.checkZip(v, zipName, sum); err != nil {
				return err
			}
		}
	}
	if want, ok := sum.lines[zipKey(v)]; ok && want != t.hash {
		return diag.Errorf(diag.Run, "verify", zipKey(v), "files in %s were changed: got %s, pinned is %s",
			t.dir, t.hash, want).
			WithHint(removeHint, t.dir)
	}
	return sum.check(zipKey(v), t.hash)
}

// unpack unpacks the archive of a version into its directory.
func (st *store) unpack(v module.Version, zipName, dir string) error {
	// It is unpacked in the scratch directory and renamed, so that the directory of a
	// version is always complete.
	scratch, err := st.scratch.path()
	if err != nil {
		return err
	}
	tmp := filepath.Join(scratch, "unzip")
	if err := removeTree(tmp); err != nil {
		return err
	}
	if err := smallEnough(zipName); err != nil {
		return &diag.Error{Op: "unpack", Subject: v.Path + "@" + v.Version, Cause: err}
	}
	if err := modzip.Unzip(tmp, v, zipName); err != nil {
		return &diag.Error{Op: "unpack", Subject: v.Path + "@" + v.Version, Cause: err}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return readOnly(dir)
}

// smallEnough checks the unpacked size that an archive declares; Unzip enforces
// the declared size.
func smallEnough(zipName string) error {
	z, err := zip.OpenReader(zipName)
	if err != nil {
		return err
	}
	defer z.Close()
	sum := uint64(0)
	for _, f := range z.File {
		if sum += min(f.UncompressedSize64, maxZip+1); sum > maxZip || len(z.File) > maxFiles {
			return fmt.Errorf("more than %d MiB or %d files", maxZip>>20, maxFiles)
		}
	}
	return nil
}
