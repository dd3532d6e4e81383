#!/bin/sh
# make.sh DIR: makes the recordings of this folder anew in DIR, with perf 6.1,
# as root. Run it in namespaces of its own, so that the recordings name neither
# the machine nor its other processes:
#
#   unshare --uts --pid --fork --mount-proc sh -c 'hostname testhost; ./make.sh DIR'
set -e
cd "$1"
PATH=/usr/bin:/bin
export PATH

events=sched:sched_switch,sched:sched_wakeup,raw_syscalls:sys_enter,raw_syscalls:sys_exit
fields=comm,pid,tid,cpu,time,event,trace

# Four tracepoints, one CPU.
taskset -c 0 perf record -q -e $events -o trace.data -- sh -c 'echo a; sleep 0.01; /bin/true'
perf script -i trace.data --ns -F $fields > trace.txt

# The same through a pipe.
taskset -c 0 perf record -q -e $events -o - -- sh -c 'echo a >&2; /bin/true' > pipe.data
perf script -i - --ns -F $fields < pipe.data > pipe.txt

# Compressed.
taskset -c 0 perf record -q -z -e $events -o zstd.data -- sh -c 'i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo $i; done; sleep 0.01'
perf script -i zstd.data --ns -F $fields > zstd.txt

# Software events with callchains. The samples do not tell their CPU.
taskset -c 0 perf record -q -g -e page-faults,task-clock/period=200000/u,context-switches -c 20 -o stacks.data -- \
	sh -c 'i=0; while [ $i -lt 4 ]; do i=$((i+1)); /bin/true; done'
perf script -i stacks.data --ns -F comm,pid,tid,time,period,event,ip > stacks.txt

# Both CPUs, and commands that move between them.
perf record -q -e sched:sched_process_exec,sched:sched_process_exit,sched:sched_migrate_task,cs -c 1 --sample-cpu -o cpus.data -- \
	sh -c 'taskset -c 0 sh -c "/bin/true; taskset -c 1 /bin/true" & taskset -c 1 sh -c "taskset -c 0 /bin/true; /bin/true" & wait; sleep 0.05; /bin/true; sleep 0.05; /bin/true'
perf script -i cpus.data --ns -F comm,pid,tid,cpu,time,event > cpus.txt

# A group whose leader alone is sampled, with callchains.
taskset -c 0 perf record -q -g -e '{sched:sched_switch,raw_syscalls:sys_enter,page-faults}:S' -o group.data -- \
	sh -c 'i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo $i; /bin/true; done'
perf script -i group.data --ns -F comm,pid,tid,cpu,time,period,event,ip > group.txt

# The kernel's release is text in the header; a neutral one of its length.
release=$(uname -r)
neutral=$(printf '%.*s' ${#release} 6.18.0-testing-kernel-of-some-length)
sed -i "s/$release/$neutral/g" ./*.data
chmod 644 ./*.data
