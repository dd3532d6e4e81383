package expr

import (
	"fmt"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kerneltype"
	"ppscript/runtime/text/diag"
)

// This file makes the path of a file out of what leads to its directory entry: a descriptor, a struct file,
// an inode, a page of the page cache.

// PathOffsets has the offsets of the members that a path is read from, in the order of pathMembers.
type PathOffsets [11]int

// pathMembers lists the members that a path is read from.
var pathMembers = [len(PathOffsets{})]struct{ of, member string }{
	{"struct dentry", "d_parent"}, {"struct dentry", "d_name.name"}, {"struct dentry", "d_name.len"},
	{"struct dentry", "d_sb"}, {"struct vfsmount", "mnt_root"}, {"struct mount", "mnt"},
	{"struct mount", "mnt_parent"}, {"struct mount", "mnt_mountpoint"}, {"struct super_block", "s_root"},
	{"struct super_block", "s_type"}, {"struct file_system_type", "name"},
}

// leadsTo has, for structures that lead to a file, the member that does.
var leadsTo = map[string]string{
	"struct kiocb": "ki_filp", "struct linux_binprm": "file", "struct vm_area_struct": "vm_file",
	"struct vm_fault": "vma.vm_file", "struct file": "f_path",
	"struct folio": "mapping", "struct page": "mapping", "struct address_space": "host",
}

// PathFrom lists what a path can be made of, for messages.
const PathFrom = "a descriptor, or a struct file, path, dentry, inode, folio, page, address_space, kiocb, " +
	"vm_area_struct, vm_fault or linux_binprm"

// at follows members, given as "a.b".
func (d *KernelData) at(path string) (*KernelData, error) { return d.walk(strings.Split(path, ".")...) }

// PathOf is the path of the file that d leads to.
func (k *Kernel) PathOf(d *KernelData) (*KernelData, error) {
	name := fmt.Sprintf("path(%s)", d.Path)
	for {
		t := d.Type
		if t.Kind() == kerneltype.Pointer {
			t = t.Elem()
		}
		next, known := leadsTo[spelledStruct(t)]
		if !known {
			break
		}
		m, err := d.at(next)
		if err != nil {
			return nil, err
		}
		if next == "mapping" { // the lowest bits say that it is no file's
			if m, err = k.unflagged(m); err != nil {
				return nil, err
			}
		}
		d = m
	}
	read := &KernelPath{Mount: NewUint(0), Super: NewUint(0)}
	t, err := d.Type, error(nil)
	if t.Kind() == kerneltype.Pointer {
		t = t.Elem()
	}
	switch spelledStruct(t) {
	case "struct path":
		if read.Dentry, err = d.number("dentry"); err == nil {
			read.Mount, err = d.number("mnt")
		}
	case "struct dentry":
		if d.Type.Kind() != kerneltype.Pointer {
			return nil, fmt.Errorf("%s is a %s, want a pointer to it", d.Path, d.Type)
		}
		read.Dentry, err = d.value()
	case "struct inode":
		if read.Alias, err = k.offset("struct dentry", "d_u.d_alias"); err != nil {
			read.Alias, err = k.offset("struct dentry", "d_alias")
		}
		if err == nil {
			read.Dentry, err = d.number("i_dentry.first")
		}
		if err == nil {
			read.Super, err = d.number("i_sb")
		}
	default:
		return nil, diag.Errorf(diag.Run, "path", d.Path, "it is a %s, want %s", d.Type, PathFrom).
			WithHint(`name a member that leads to one, or its type: path(cast(%s, "struct file"))`, d.Path)
	}
	if err != nil {
		return nil, err
	}
	for i, m := range pathMembers {
		if read.Offsets[i], err = k.offset(m.of, m.member); err != nil {
			return nil, err
		}
	}
	return k.made(read, name)
}

// PathOfDescriptor is the path of a file that the running process has opened.
func (k *Kernel) PathOfDescriptor(fd Node, path string) (*KernelData, error) {
	task, err := k.Task()
	if err != nil {
		return nil, err
	}
	table, err := task.at("files.fdt")
	if err != nil {
		return nil, err
	}
	most, err := table.number("max_fds")
	if err != nil {
		return nil, err
	}
	files, err := table.at("fd")
	if err != nil {
		return nil, err
	}
	// A descriptor is an int, whatever holds it.
	n, err := NewBinary(OpAnd, Retype(ToInt(fd), true), NewUint(1<<32-1))
	if err != nil {
		return nil, err
	}
	n = Retype(n, true)
	open, err := NewBinary(OpLtU, n, Retype(most, true))
	if err != nil {
		return nil, err
	}
	file, err := files.Index(n)
	if err != nil {
		return nil, err
	}
	address, err := file.value()
	if err != nil {
		return nil, err
	}
	if address, err = NewCond(open, address, NewUint(0)); err != nil {
		return nil, err
	}
	return k.PathOf(&KernelData{Type: file.Type, Path: path, k: k, base: Retype(address, true)})
}

// unflagged is the pointer d, or 0 if one of its lowest bits is set.
func (k *Kernel) unflagged(d *KernelData) (*KernelData, error) {
	n, err := d.value()
	if err != nil {
		return nil, err
	}
	flags, err := NewBinary(OpAnd, n, NewUint(3))
	if err != nil {
		return nil, err
	}
	if n, err = NewCond(flags, NewUint(0), Retype(n, true)); err != nil {
		return nil, err
	}
	return &KernelData{Type: d.Type, Path: d.Path, k: k, base: Retype(n, true)}, nil
}

// number is a member of d as a number, which is no field of the event.
func (d *KernelData) number(path string) (Node, error) {
	m, err := d.at(path)
	if err != nil {
		return nil, err
	}
	return m.value()
}

// offset is the offset of a member, given as "a.b", in a structure.
func (k *Kernel) offset(of, path string) (int, error) {
	t, err := k.Types.Named(of)
	if err != nil {
		return 0, err
	}
	at := 0
	for name := range strings.SplitSeq(path, ".") {
		m, err := t.Member(name)
		if err != nil {
			return 0, err
		}
		at += m.Offset
		t = m.Type
	}
	return at, nil
}

// made is a text that is read in another way than from an address.
func (k *Kernel) made(read Node, path string) (*KernelData, error) {
	t, err := k.Types.Named("char *")
	if err != nil {
		return nil, err
	}
	n, err := k.field(read, event.Field{Name: path, Type: "char *", Kind: event.Str,
		Size: event.UserTextLimit})
	return &KernelData{Type: t, Path: path, k: k, text: n}, err
}

// spelledStruct is the name of a structure without qualifiers.
func spelledStruct(t kerneltype.Type) string {
	return strings.TrimPrefix(t.String(), "const ")
}
