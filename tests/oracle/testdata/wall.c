// Threads that compute, sleep, or wait for a mutex, a pipe or a CPU. At its end each prints its time, and
// the kernel's accounts of its running time and its time of waiting for a CPU, in ns:
//
//	NAME wall ran queued known
//
// known is the time that the thread itself measured around the relevant call.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long now(clockid_t c)
{
	struct timespec t;
	clock_gettime(c, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static volatile unsigned long sink;

#define BURN(name) \
	__attribute__((noinline)) void name(long ms) \
	{ \
		for (long end = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000; now(CLOCK_THREAD_CPUTIME_ID) < end;) \
			for (int i = 0; i < 20000; i++) \
				sink += i; \
	}
BURN(hot)
BURN(warm)
BURN(serial)
BURN(parallel)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int data[2], start[2];

// Frame pointers miss the caller of a C library function that has none, so these are in between.
#define BETWEEN static __attribute__((noinline))

BETWEEN void nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

BETWEEN void lock(void) { pthread_mutex_lock(&mutex); sink++; }
BETWEEN void unlock(void) { pthread_mutex_unlock(&mutex); sink++; }

BETWEEN void get(int fd)
{
	char c;
	if (read(fd, &c, 1) != 1)
		exit(1);
}

BETWEEN void put(int fd)
{
	if (write(fd, "x", 1) != 1)
		exit(1);
}

static void fifo(int prio)
{
	cpu_set_t set;
	struct sched_param p = {.sched_priority = prio};
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_FIFO, &p))
		perror("sched_setscheduler");
}

BETWEEN long burner(void) { hot(300); warm(150); return 0; }
BETWEEN long sleeper(void) { long t = now(CLOCK_MONOTONIC); nap(400); return now(CLOCK_MONOTONIC) - t; }

BETWEEN long holder(void)
{
	lock();
	nap(300);
	unlock();
	return 0;
}

BETWEEN long locker(void)
{
	nap(50);
	long t = now(CLOCK_MONOTONIC);
	lock();
	t = now(CLOCK_MONOTONIC) - t;
	unlock();
	return t;
}

BETWEEN long writer(void)
{
	nap(350);
	put(data[1]);
	return 0;
}

BETWEEN long reader(void)
{
	long t = now(CLOCK_MONOTONIC);
	get(data[0]);
	return now(CLOCK_MONOTONIC) - t;
}

// hog wakes the thread queued, and then keeps the CPU for 200 ms.
BETWEEN long hog(void)
{
	fifo(2);
	nap(100);
	put(start[1]);
	for (long end = now(CLOCK_MONOTONIC) + 200000000; now(CLOCK_MONOTONIC) < end;)
		;
	return 0;
}

BETWEEN long queued(void)
{
	fifo(1);
	get(start[0]);
	return 0;
}

struct job {
	const char *name;
	long (*run)(void);
	long begin;
	char line[128];
};

static void *work(void *arg)
{
	struct job *j = arg;
	char text[100] = "";
	long ran = 0, waited = 0;
	prctl(PR_SET_NAME, j->name);
	long known = j->run();
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	if (read(fd, text, sizeof text - 1) > 0)
		sscanf(text, "%ld %ld", &ran, &waited);
	snprintf(j->line, sizeof j->line, "%s %ld %ld %ld %ld", j->name, now(CLOCK_MONOTONIC) - j->begin, ran,
		waited, known);
	return NULL;
}

static void *beside(void *arg)
{
	cpu_set_t set;
	struct sched_param p = {.sched_priority = 1};
	CPU_ZERO(&set);
	CPU_SET((long)arg, &set);
	sched_setaffinity(0, sizeof set, &set);
	sched_setscheduler(0, SCHED_FIFO, &p);
	parallel(300);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		// One thread for 300 ms, then two threads at the same time for 300 ms.
		pthread_t t[2];
		struct sched_param p = {.sched_priority = 1};
		sched_setscheduler(0, SCHED_FIFO, &p);
		serial(300);
		for (long i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, beside, (void *)i);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		return 0;
	}
	static struct job jobs[] = {
		{"w-holder", holder}, {"w-burner", burner}, {"w-sleeper", sleeper}, {"w-locker", locker},
		{"w-writer", writer}, {"w-reader", reader}, {"w-queued", queued}, {"w-hog", hog},
	};
	enum { N = sizeof jobs / sizeof *jobs };
	pthread_t t[N];
	if (pipe(data) || pipe(start))
		return 1;
	setpriority(PRIO_PROCESS, 0, -20); // their work after the last output is short
	for (int i = 0; i < N; i++) {
		jobs[i].begin = now(CLOCK_MONOTONIC);
		pthread_create(&t[i], NULL, work, &jobs[i]);
	}
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < N; i++)
		puts(jobs[i].line);
	return 0;
}
