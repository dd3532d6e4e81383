#!/bin/bash
# make-deferred.sh DIR: makes deferred.data, deferredpipe.data, deferredzstd.data and what perf script says of the first,
# deferred.txt, anew in DIR. It needs gcc and what tests/vm needs, no root: the recordings are made in an emulated guest
# with the newest kernel, by the perf of that kernel, which is unpacked from Debian's backports and not installed.
set -euo pipefail
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work"/{state,lists/partial,cache/archives/partial,root,guest/lib}
: >"$work/status"
printf 'deb http://deb.debian.org/debian %s main\n' trixie trixie-backports >"$work/sources.list"
apt=(apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
	-o Dir::State="$work/state" -o Dir::State::Lists="$work/lists" -o Dir::State::Status="$work/status"
	-o Dir::Cache="$work/cache" -o APT::Sandbox::User=root
	-o Dir::Etc::TrustedParts=/dev/null -o Dir::Etc::Trusted=/usr/share/keyrings/debian-archive-keyring.gpg)
"${apt[@]}" update >&2
"${apt[@]}" install -y --download-only --no-install-recommends -t trixie-backports linux-perf >&2
for package in "$work"/cache/archives/*.deb; do
	dpkg-deb -x "$package" "$work/root"
done
root=$work/root/usr
run=("$root/lib64/ld-linux-x86-64.so.2" --library-path "$root/lib/x86_64-linux-gnu")
"${run[@]}" --list "$root/bin/perf" | grep -o "$work[^ ]*" | sort -u | xargs cp -t "$work/guest/lib"
cp "$root/bin/perf" "$work/guest/perf"
cp "$root/lib64/ld-linux-x86-64.so.2" "$work/guest/ld.so"
tar cf "$work/guest.tar" -C "$work/guest" .
gcc -static -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/deferred" tests/data/testdata/deferred.c

go run -trimpath=false ./tests/vm/guest -kernel newest -memory 1024 -file "$work/guest.tar" -file "$work/deferred" '
	hostname guest
	mkdir /p && tar xf guest.tar -C /p && cd /tmp
	perf="/p/ld.so --library-path /p/lib /p/perf"
	record="$perf record -q --call-graph fp,defer -e cpu-clock -e sched:sched_switch -F 400"
	{
		$record -o deferred.data /w/deferred
		$record -z -o deferredzstd.data /w/deferred
		$record -o - /w/deferred | cat >deferredpipe.data
	} >log 2>&1 || { cat log; exit 1; }
	tar c deferred.data deferredpipe.data deferredzstd.data' | tar x -C "$dir"
for recording in deferred deferredpipe deferredzstd; do
	"${run[@]}" "$root/bin/perf" script -F event,ip -i "$dir/$recording.data" >"$dir/$recording.txt" 2>/dev/null
done
chmod 644 "$dir"/deferred*
