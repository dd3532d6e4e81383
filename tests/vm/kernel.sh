#!/bin/bash
# kernel.sh SERIES [ARCH [FLAVOUR]] - make a stock Debian kernel available, unpacked, without installing it.
#
# Prints the directory that has it: vmlinuz, release (the text of uname -r), lib/modules/RELEASE, and for an ARCH that is
# not this machine's a static busybox. A kernel that is there already is not fetched again; remove the directory to get a
# newer one. SERIES is such as 6.12, or newest: the newest of Debian's backports. ARCH is amd64 or arm64, FLAVOUR is cloud
# (small, the default) or full.
#
# The cache is ${PPSCRIPT_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ppscript-guest}. Packages come from the mirror that
# the system's apt uses for Debian, through lists of our own: neither the system's sources nor its package database are
# touched, and no root is needed.
set -euo pipefail

series=${1:?usage: kernel.sh SERIES [ARCH [FLAVOUR]]}
arch=${2:-amd64}
flavour=${3:-cloud}
cache=${PPSCRIPT_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ppscript-guest}
dest=$cache/kernel-$series-$flavour-$arch

fail() { echo "kernel.sh: $*" >&2; exit 1; }

mkdir -p "$cache"
exec 8>"$cache/lock"
flock 8 # tests of several packages run at the same time
if [ -e "$dest/release" ]; then echo "$dest"; exit 0; fi

# Where each series lives. The archive keeps old point releases of none of them.
case $series in
5.10) release_name=bullseye extra=security ;;
6.1) release_name=bookworm extra=security ;;
6.12) release_name=trixie extra=security ;;
*) release_name=trixie extra=backports ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# mirror WORD prints the address of the system's Debian archive: WORD is "security", or "main" for the others.
mirror() {
	apt-get indextargets --format '$(CODENAME)|$(ORIGIN)|$(REPO_URI)' 'Created-By: Packages' |
		awk -F'|' -v want="$1" '$2 == "Debian" { kind = $1 ~ /-security$/ ? "security" : "main"; if (kind == want) { print $3; exit } }'
}

main=$(mirror main)
main=${main:-http://deb.debian.org/debian}
security=$(mirror security)
security=${security:-http://deb.debian.org/debian-security}
signed="[arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"

lists=$cache/apt-$release_name-$extra-$arch
mkdir -p "$lists/lists/partial" "$lists/archives/partial"
: >"$lists/status"
{
	echo "deb $signed $main $release_name main"
	case $extra in
	security) echo "deb $signed $security $release_name-security main" ;;
	backports) echo "deb $signed $main $release_name-backports main" ;;
	esac
} >"$lists/sources.list"

# run_apt TOOL ARG... runs an apt tool on our lists.
run_apt() {
	local tool=$1
	shift
	"$tool" -qq \
		-o Dir::Etc::SourceList="$lists/sources.list" -o Dir::Etc::SourceParts=- \
		-o Dir::State="$lists" -o Dir::State::Lists="$lists/lists" -o Dir::State::Status="$lists/status" \
		-o Dir::Cache="$lists" -o Dir::Cache::Archives="$lists/archives" \
		-o APT::Architecture=$arch -o APT::Architectures=$arch -o APT::Sandbox::User="$(id -un)" \
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o Acquire::Check-Valid-Until=false -o Acquire::Retries=2 -o Acquire::http::Timeout=20 "$@"
}

# An old index names packages that the mirror has replaced.
if [ -z "$(find "$lists/updated" -mmin -600 2>/dev/null)" ]; then
	run_apt apt-get update >&2 || fail "cannot read the package lists of $release_name"
	touch "$lists/updated"
fi

version=${series//./\\.}
if [ "$series" = newest ]; then version='[0-9]+\.[0-9]+'; fi
case $flavour in
cloud) pattern="^linux-image-$version[.+].*-cloud-$arch\$" ;;
full) pattern="^linux-image-$version[.+][^a-z]*(deb[^a-z]*)?-$arch\$" ;;
*) fail "flavour: got $flavour, want cloud or full" ;;
esac

# The programs of a guest of another architecture. This one's are installed.
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	mkdir "$work/tools"
	(cd "$work/tools" && run_apt apt-get download busybox-static >&2 && dpkg-deb -x busybox-static_*.deb .) ||
		fail "cannot get busybox-static for $arch"
	busybox=$(find "$work/tools" -path '*bin/busybox' -type f | head -n 1)
fi

# Newest first. The index can name a package that the mirror has dropped already, so the next one is tried.
for package in $(run_apt apt-cache pkgnames linux-image- | grep -E "$pattern" | grep -v -e -unsigned -e -dbg | sort -rV); do
	release=${package#linux-image-}
	rm -rf "$work/debs" "$work/tree"
	mkdir -p "$work/debs" "$work/tree"
	# Since 6.19 an image is split: the modules and their lists are packages of their own.
	parts=$(run_apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces "$package" |
		grep -xE "linux-(base|binary|modules)-${release//[.+]/.}" | sort -u || true)
	(cd "$work/debs" && run_apt apt-get download "$package" $parts >&2) || continue
	for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/tree"; done

	image=$(find "$work/tree" -name "vmlinuz*" -type f | head -n 1)
	modules=$(find "$work/tree" -type d -path "*lib/modules/$release")
	if [ -z "$image" ] || [ -z "$modules" ]; then continue; fi

	# Assemble under a temporary name, so that a cut-off run leaves nothing that looks whole.
	rm -rf "$dest" "$dest.new"
	mkdir -p "$dest.new/lib/modules/$release"
	for dir in $modules; do cp -a "$dir/." "$dest.new/lib/modules/$release/"; done # below lib and usr/lib
	mv "$image" "$dest.new/vmlinuz"
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$dest.new" "$release"
	echo "$release" >"$dest.new/release"
	if [ -n "${busybox-}" ]; then cp "$busybox" "$dest.new/busybox"; fi
	mv "$dest.new" "$dest"
	echo "$dest"
	exit 0
done
fail "no $flavour kernel of series $series can be had from $release_name"
