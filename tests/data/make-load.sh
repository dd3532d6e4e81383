#!/bin/sh
# make-load.sh DIR: makes load.data and timer.data anew in DIR, with perf 6.1, as root, in
# namespaces of its own, as make.sh:
#
#   CGO_ENABLED=0 go build -o /tmp/load ./tests/testkit/load
#   unshare --uts --pid --fork --mount-proc sh -c 'hostname testhost; LOAD=/tmp/load ./make-load.sh DIR'
set -e
cd "$1"
PATH=/usr/bin:/bin
export PATH

perf record -q -z -m 512 --sample-cpu -o load.data \
	-e sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_stat_runtime,sched:sched_process_exit \
	-e irq:softirq_entry,irq:softirq_exit,signal:signal_generate,raw_syscalls:sys_enter,raw_syscalls:sys_exit,kmem:kmalloc,page-faults/period=1/ -- \
	sh -c '"$LOAD" -getppid 60 -fail 12 -sleep 10 -switch 40 -fault 20 -spin 15
		sleep 9 & victim=$!; taskset -c 1 "$LOAD" -cpu 1 -getppid 30 -switch 10; kill -USR1 $victim; wait || :'

# A timer beside events, one CPU.
taskset -c 0 perf record -q -z --sample-cpu -o timer.data -e cpu-clock/period=1000000/,sched:sched_switch,sched:sched_wakeup,raw_syscalls:sys_enter -- \
	"$LOAD" -getppid 60 -sleep 5 -switch 40 -spin 10

release=$(uname -r)
neutral=$(printf '%.*s' ${#release} 6.18.0-testing-kernel-of-some-length)
sed -i "s/$release/$neutral/g" load.data timer.data
chmod 644 load.data timer.data
