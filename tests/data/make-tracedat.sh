#!/bin/sh
# make-tracedat.sh DIR: makes cmd6.dat, cmd7.dat and cmdstack.dat, and what trace-cmd report
# prints of them, anew in DIR. It needs trace-cmd and what tests/vm needs, no root: the recordings are made in
# an emulated guest with Linux 6.1.
set -e
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

CGO_ENABLED=0 go build -trimpath -o "$work/load" ./tests/testkit/load

# A table of symbols as large as the kernel's would be most of the file.
go run -trimpath=false ./tests/vm/guest -cpus 2 -memory 768 -file "$work/load" \
	-file "$(readlink -f "$(command -v trace-cmd)")" '
	hostname guest
	cd /tmp
	grep -E " (_stext|_text|_etext|hrtimer_wakeup|vfs_read|vfs_write|ksys_read|ksys_write)$" /proc/kallsyms >symbols
	mount --bind /tmp/symbols /proc/kallsyms
	make() { trace-cmd record -q -o "$@" >>log 2>&1 || { cat log; exit 1; }; }

	# Version 6: three buffers, functions, a written line.
	make cmd6.dat --file-version 6 -p function -l vfs_read -l vfs_write -e sched:sched_switch -e sched:sched_wakeup \
		-B timers -e timer:hrtimer_start -e timer:hrtimer_expire_entry -B calls -e raw_syscalls \
		sh -c "echo hello >/sys/kernel/tracing/trace_marker; load -cpu 0 -getppid 5; load -cpu 1 -getppid 5"

	# Version 7, compressed, with the date, processes, and buffers so small that records are lost.
	make cmd7.dat --compression zstd --date -O record-tgid -b 8 -s 50000 -e raw_syscalls -e sched:sched_switch \
		-B soft -e irq:softirq_entry -e irq:softirq_exit \
		sh -c "load -cpu 0 -getppid 5; load -cpu 1 -getppid 500"
	# Each switch with its stack, by the counter of the CPU.
	make cmdstack.dat -T --tsc2nsec -e sched:sched_switch sh -c "ls / >/dev/null; sleep 0.01"
	for f in cmd6 cmd7 cmdstack; do trace-cmd report -N -t $f.dat | gzip -n >$f.txt.gz; done
	tar cf - cmd*.dat cmd*.txt.gz' >"$work/all.tar"
tar xf "$work/all.tar" -C "$dir"
chmod 644 "$dir"/cmd[67s]*
