#!/bin/bash
# cleanroot.sh [WAY...] - run `make test` in a clean Debian 12, which has Go, gcc, git and make and nothing else.
#
# A test that needs more must say so (testkit.Requires), or it fails here. The WAYs are:
#
#	user    as a user without rights, with /proc and /sys
#	bare    as root with /proc alone, as in a chroot or a small container
#	root    as root, with /proc, /sys and tracefs
#
# Without any, it does the first two. It needs root and mmdebstrap. The root is made anew each time; Go, the downloaded modules and
# the build cache are this machine's. The last lines are those of the runs.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "cleanroot.sh: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "needs root: sudo bash tests/cleanroot.sh"
command -v mmdebstrap >/dev/null || fail "needs mmdebstrap: apt-get install mmdebstrap"
ways=("$@")
[ $# -gt 0 ] || ways=(user bare)

# The root is made and removed here, and all mounts are made in a namespace that ends before it is removed: what is mounted in the
# root, this machine's caches among it, can never be removed with it.
if [ -z "${CLEANROOT-}" ]; then
	# Not in /tmp, which is memory on some machines: the root takes 0.5 GB, a build 2 GB.
	work=$(mktemp -d /var/tmp/cleanroot.XXXXXX)
	trap 'rm -rf "$work"' EXIT
	mmdebstrap --quiet --variant=essential --include=gcc,libc6-dev,git,make,ca-certificates bookworm "$work/root"
	CLEANROOT=$work unshare --mount --propagation private bash tests/cleanroot.sh "${ways[@]}"
	exit
fi
work=$CLEANROOT root=$CLEANROOT/root

# Programs in it may have mounts of their own (unshare -m), as on a machine: then its root must be a mount.
mount --bind "$root" "$root"

# bind FROM TO [OPTIONS] mounts a directory of this machine in the root.
bind() {
	mkdir -p "$root$2"
	mount --bind "$1" "$root$2"
	[ -z "${3-}" ] || mount -o "remount,bind,$3" "$root$2"
}

cache=$(go env GOCACHE)
mkdir -p "$cache"
bind "$(go env GOROOT)" /usr/local/go ro
bind "$(go env GOMODCACHE)" /go/mod ro
mount -t tmpfs tmpfs "$root/dev"
for device in null:3 zero:5 full:7 random:8 urandom:9; do
	mknod -m 666 "$root/dev/${device%:*}" c 1 "${device#*:}"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm" "$root/dev/pts"
chmod 1777 "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
echo 127.0.0.1 localhost >"$root/etc/hosts" # as an installed Debian has it
echo somebody:x:1000:1000::/home/somebody:/bin/sh >>"$root/etc/passwd"
echo somebody:x:1000: >>"$root/etc/group"
install -d -o 1000 -g 1000 "$root/home/somebody"

# What is committed is what is tested, as from a clone.
clone() { # clone OWNER
	rm -rf "$root/src"
	git clone --quiet --no-hardlinks . "$root/src"
	chroot "$root" chown -R "$1" /src
}

# inside USER COMMAND... runs a command in the root, in the clone.
inside() {
	local user=$1 home
	shift
	home=$(chroot "$root" sh -c "echo ~$user")
	chroot --userspec="$user:$user" "$root" env -i HOME="$home" LANG=C.UTF-8 PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		GOROOT=/usr/local/go GOMODCACHE=/go/mod GOPROXY=off GOTOOLCHAIN=local GOFLAGS="-buildvcs=false -count=1" GOCACHE="$home/go-build" \
		sh -c 'cd /src && exec "$@"' sh "$@"
}

status=0
for way in "${ways[@]}"; do
	printf '\n== make test in a clean root: %s\n' "$way"
	case $way in
	root | bare) user=root ;;
	user) user=somebody ;;
	*) fail "way: got $way, want user, bare or root" ;;
	esac
	clone "$user"
	home=$(chroot "$root" sh -c "echo ~$user")
	# A user has a cache of his own, which begins with what is in this machine's.
	if [ "$user" = root ]; then bind "$cache" "$home/go-build"; else
		mkdir -p "$work/upper" "$work/workdir" "$root$home/go-build"
		mount -t overlay overlay -o "lowerdir=$cache,upperdir=$work/upper,workdir=$work/workdir" "$root$home/go-build"
		chroot "$root" sh -c "chown $user $home/go-build $home/go-build/*" # the directories, not what is in them
	fi
	mount -t proc proc "$root/proc"
	[ "$way" = bare ] || mount -t sysfs sysfs "$root/sys"
	[ "$way" != root ] || mount -t tracefs tracefs "$root/sys/kernel/tracing" || true
	inside "$user" make test || status=1
	[ "$way" = bare ] || umount --recursive "$root/sys"
	umount --recursive "$root/proc"
	umount "$root$home/go-build"
done
exit $status
