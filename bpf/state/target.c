//go:build ignore

// The programs that update the target's set of processes or threads; target.go tells where they are attached.
// Numbers in capitals are constants of Go.

#include "kernel.h"

map(control);
map(processes);
map(threads);

// Numbers that are given when a program is loaded: where a task has the number that the set has of it, and which
// new threads belong to the target.
extern char number_at[], follow[];

// What control has: the process that counts, and the one whose execve makes it count.
struct control {
	u64 process, starting;
};

// Arguments of the tracepoint task_newtask.
struct new_task {
	u64 task, flags;
};

inline struct control *find_control(void)
{
	u32 key = 0;
	return map_lookup(&control, &key);
}

// number_of reads the number of a new task.
inline u32 number_of(struct new_task *new)
{
	u32 number = 0;
	read_kernel(&number, sizeof(number), new->task + given(number_at));
	return number;
}

// track_workload is called at an execve. The process of the workload counts from then on.
routine int track_workload(void *context)
{
	u64 process = pid_tgid() >> 32;
	struct control *c = find_control();
	if (c && c->starting == process)
		c->process = process;
	return 1;
}

// track_children adds a new process that a process of the target makes.
routine int track_children(struct new_task *new)
{
	u32 number, process = pid_tgid() >> 32;
	struct control *c = find_control();
	if (new->flags & CLONE_THREAD || !c || c->process != process && !map_lookup(&processes, &process))
		return 1;
	number = number_of(new);
	map_update(&processes, &number, &number, UPDATE_ANY);
	return 1;
}

// track_threads adds a new thread that a thread of the target makes, if it belongs to the target too. A number
// that another thread gets is removed.
routine int track_threads(struct new_task *new)
{
	u32 thread = pid_tgid(), number = number_of(new);
	u64 follows = given(follow);
	if (map_lookup(&threads, &thread) &&
		(follows == FOLLOW_ALL || follows == FOLLOW_THREADS && new->flags & CLONE_THREAD))
		map_update(&threads, &number, &number, UPDATE_ANY);
	else
		map_delete(&threads, &number);
	return 1;
}
