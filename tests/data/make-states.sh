#!/bin/sh
# make-states.sh DIR: makes states.data and parked.data anew in DIR. It needs perf, strace and
# what tests/vm needs, no root: the recordings are made in an emulated guest with Linux 6.1.
set -e
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

CGO_ENABLED=0 go build -trimpath -o "$work/load" ./tests/testkit/load

# Files of the guest beside the command, and then the command; only its output is a recording.
guest() {
	go run -trimpath=false ./tests/vm/guest -cpus 2 -memory 768 -file "$work/load" \
		-file "$(readlink -f "$(command -v perf)")" -file "$(readlink -f "$(command -v strace)")" "$1"
}

# R+: two threads compute on one CPU. D: the parent of a vfork. X: a thread that ends; Z: a
# process. T: a child that stops itself, until it is continued. t: strace's child. The
# kernel's own threads are idle (I) between their works.
guest '
	hostname guest
	cd /tmp
	cat >states <<"END"
load -cpu 0 -spin 20 & load -cpu 0 -spin 20 -sleep 2 -exec 1 -thread 1
wait
sh -c "kill -STOP \$\$" & stopped=$!
sleep 0.2; kill -CONT $stopped
strace -o /dev/null true
wait
END
	perf record -z -a -N -B -m 512 -e sched:sched_switch -o states.data sh states >log 2>&1 || { cat log; exit 1; }
	cat states.data' >"$dir/states.data"

# P: a thread of a CPU that goes offline. The events of that CPU end before, those of the
# thread do not.
guest '
	hostname guest
	cd /tmp
	for p in /proc/[0-9]*; do
		case $(cat $p/comm) in ksoftirqd/1) parked=${p#/proc/};; esac
	done
	perf record -p $parked -N -B -e sched:sched_switch -o parked.data sh -c "
		echo 0 >/sys/devices/system/cpu/cpu1/online; sleep 0.2
		echo 1 >/sys/devices/system/cpu/cpu1/online; sleep 0.2" >log 2>&1 || { cat log; exit 1; }
	cat parked.data' >"$dir/parked.data"
chmod 644 "$dir/states.data" "$dir/parked.data"
