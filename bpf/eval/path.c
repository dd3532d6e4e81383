//go:build ignore

// The path of a file, from the names of its directory entries; path.go tells when programs call it. Numbers
// in capitals are constants of path.go.

#include "kernel.h"

// A work is the argument of path_text, and its memory. Behind the addresses are offsets in the kernel's
// structures. A mount is the address of a struct vfsmount, or 0.
struct work {
	u64 dentry, mount, super;
	u64 d_parent, d_name, d_len, d_sb;    // in a struct dentry
	u64 mnt_root, mnt;                    // in a struct vfsmount; of it in a struct mount
	u64 mnt_parent, mnt_mountpoint;       // in a struct mount
	u64 s_root, s_type, fs_name;          // in a struct super_block; in a struct file_system_type
	char text[2 * ROOM];
};

_Static_assert(sizeof(struct work) == WORK_SIZE && offset(struct work, d_parent) == WORK_OFFSETS, "work");

inline int word(u64 *to, u64 at) { return read_kernel(to, 8, at) == 0; }

// within is a number that is below a power of two, so that also the verifiers before 6.12 know it: clang tests
// a number and uses another that it computes of it.
inline u64 within(u64 n, u64 limit)
{
	hide(n);
	return n & (limit - 1);
}

// kind writes the name of the file system and a colon; it returns their length, 0 if they cannot be read.
inline u64 kind(char *to, const struct work *w)
{
	u64 type, name, n, end;
	if (!w->super || !word(&type, w->super + w->s_type) || !word(&name, type + w->fs_name))
		return 0;
	n = read_kernel_text(to, KIND, (const void *)name);
	if (n < 1 || n > KIND)
		return 0;
	end = within(n - 1, KIND);
	to[end] = ':';
	return end + 1;
}

// path_text writes the path to a place of ROOM zeros; it returns 1 if memory cannot be read.
//
// The names are read from the last to the first, and each is written in front of those behind it. Where a
// file system ends, the path continues at the entry that it is mounted on. A path that is too long or too
// deep loses its begin. An entry that is its own parent and no root, such as that of a pipe, has no path:
// its text is the file system and the name.
routine int path_text(char *to, struct work *w)
{
	u64 dentry = w->dentry, mount = w->mount, root = 0, parent, name, up, at = ROOM;
	u32 len;
	int i;
	if (!dentry)
		return kind(to, w) == 0;
	if (!w->super && !word(&w->super, dentry + w->d_sb))
		return 1;
	if (mount && !word(&root, mount + w->mnt_root))
		return 1;
	for (i = 0; i < DEPTH; i++) {
		if (mount && dentry == root) {
			if (!word(&up, mount - w->mnt + w->mnt_parent))
				return 1;
			if (up == mount - w->mnt) // the first of all mounts
				break;
			if (!word(&dentry, mount - w->mnt + w->mnt_mountpoint))
				return 1;
			mount = up + w->mnt;
			if (!word(&root, mount + w->mnt_root))
				return 1;
			continue;
		}
		len = 0;
		if (!word(&parent, dentry + w->d_parent) || read_kernel(&len, 4, dentry + w->d_len) ||
			!word(&name, dentry + w->d_name))
			return 1;
		if (parent == dentry)
			break;
		if (!len || len + 1 + DOTS > at) {
			i = DEPTH;
			break;
		}
		at = within(at - len, ROOM);
		if (read_kernel(w->text + at, within(len, ROOM), name))
			return 1;
		at = within(at - 1, ROOM);
		w->text[at] = '/';
		dentry = parent;
	}
	if (i == DEPTH) {
		at = within(at - DOTS, ROOM);
		w->text[at] = w->text[at + 1] = w->text[at + 2] = '.';
	}
	if (at == ROOM) {
		if (!word(&root, w->super + w->s_root))
			return 1;
		if (mount || dentry == root) {
			u64 own = 0;
			if (mount && !word(&own, mount + w->mnt_root))
				return 1;
			if (dentry == root || dentry == own) {
				to[0] = '/';
				return 0;
			}
		}
		at = kind(to, w);
		len = 0;
		if (!at || read_kernel(&len, 4, dentry + w->d_len) || !word(&name, dentry + w->d_name))
			return 1;
		if (len >= REST)
			len = REST - 1;
		return read_kernel(to + within(at, 2 * KIND), within(len, REST), name) != 0;
	}
	len = ROOM - at;
	return read_kernel(to, within(len, ROOM), (u64)(w->text + within(at, ROOM))) != 0;
}
