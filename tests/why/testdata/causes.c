/*
 * Spans whose causes are known. Each scenario runs once, in a thread with its name. The thread marks its
 * span by getpgid(MARK) at the begin and getsid(MARK) at the end, which fail immediately and do nothing.
 * It measures itself on CLOCK_MONOTONIC and by the kernel's own accounts, and prints the truth (the real
 * causes) as a line of JSON:
 *
 *	{"name":"timer","tid":12,"ns":10000000,
 *	 "parts":[{"kind":"timer","chain":"timer","least":9990000,"most":9990000}]}
 *
 * A part is a cause with bounds for its time: the kind of the cause, and the names of the threads on the
 * path to it, the span's thread first. "stolen" is the sum of interrupts and softirqs. The rest of the span
 * is overhead and chance.
 *
 *	causes [-d DISK] [-g CGROUP] [-o FILE] [-w MS] [NAME...]
 *
 * DISK is a disk, or a directory on one. CGROUP is a directory of the cpu controller that this program may
 * change. Scenarios without their DISK or CGROUP are left out. -w waits for MS before each scenario. -o
 * writes the truth to FILE. Threads have real-time priority, if that is allowed, so that others do not
 * delay them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MARK = 0x77000000, MS = 1000000 };

static const char *disk_path, *cgroup_dir;
static int last_cpu; /* helpers run there, spans on CPU 0 */

/* Time. */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int64_t now(void) { return clock_ns(CLOCK_MONOTONIC); }

static int64_t compute(int64_t ns)
{
	int64_t from = now();

	while (now() - from < ns)
		;
	return now() - from;
}

/* compute_alone is compute for a thread that may lose its CPU: long steps of the clock do not count. */
static int64_t compute_alone(int64_t ns)
{
	int64_t last = now(), time, sum = 0;

	for (; sum < ns; last = time) {
		time = now();
		if (time - last < MS / 10)
			sum += time - last;
	}
	return sum;
}

static void rest(int64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* accounts are the times for which a thread was on a CPU, and waited for one, in ns. */
struct accounts {
	int64_t wall, cpu, delay;
};

static struct accounts account(void)
{
	struct accounts a = {now(), clock_ns(CLOCK_THREAD_CPUTIME_ID), 0};
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	if (f) {
		if (fscanf(f, "%*d %ld", &a.delay) != 1)
			a.delay = 0;
		fclose(f);
	}
	return a;
}

static struct accounts since(struct accounts a)
{
	struct accounts b = account();

	return (struct accounts){b.wall - a.wall, b.cpu - a.cpu, b.delay - a.delay};
}

/* The truth of a span is between the accounts within it and the accounts around it: reading them takes time,
 * in which the thread may lose its CPU, or be held by a quota. */
static int64_t blocked(struct accounts a) { return a.wall - a.cpu - a.delay; }

/* Threads. */

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set);
}

/* be sets the name, the CPU and the priority of the calling thread: a real-time priority, or 0. */
static void be(const char *name, int cpu, int priority)
{
	struct sched_param p = {.sched_priority = priority};

	prctl(PR_SET_NAME, name);
	pin(cpu);
	sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &p);
}

/* A side is another thread of a scenario. */
struct side {
	pthread_t thread;
	void (*work)(struct side *);
	char name[16];
	int cpu, priority;
	_Atomic int ready; /* the span may begin */
	_Atomic int begun; /* the span has begun */
	int64_t ns, at;    /* its measurements */
	int64_t most;      /* upper bound, if ns is a lower bound */
	int *word;
};

static void *run_side(void *arg)
{
	struct side *s = arg;

	be(s->name, s->cpu, s->priority);
	s->work(s);
	return NULL;
}

static void start(struct side *s, const char *of, const char *name, void (*work)(struct side *))
{
	snprintf(s->name, sizeof s->name, "%s-%s", of, name);
	s->work = work;
	if (pthread_create(&s->thread, NULL, run_side, s))
		die("thread");
}

static void await(_Atomic int *flag)
{
	while (!*flag)
		rest(MS / 10);
}

/* The span and its truth. */

struct truth {
	const char *name;
	int tid;
	int64_t from, to;
	char parts[1000];
};

static void begin(struct truth *t)
{
	t->tid = gettid();
	t->from = now();
	syscall(SYS_getpgid, MARK);
}

static void end(struct truth *t)
{
	syscall(SYS_getsid, MARK);
	t->to = now();
}

/* between adds a part to the truth; chain has the names of the threads after the span's. */
static void between(struct truth *t, const char *kind, const char *chain, int64_t least, int64_t most)
{
	size_t n = strlen(t->parts);

	snprintf(t->parts + n, sizeof t->parts - n, "%s{\"kind\":\"%s\",\"chain\":\"%s%s%s\",\"least\":%ld,\"most\":%ld}",
		 n ? "," : "", kind, t->name, *chain ? ">" : "", chain, least, most);
}

static void part(struct truth *t, const char *kind, const char *chain, int64_t ns)
{
	between(t, kind, chain, ns, ns);
}

/* Locks like the ones of the C library: 0 is free, 1 is held, 2 is held and waited for. */

static void lock(int *word)
{
	int free = 0;

	if (__atomic_compare_exchange_n(word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(int *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* wait_lock is a span that waits for a lock that another thread holds while it does work. */
static void wait_lock(struct truth *t, struct side *s, void (*work)(struct side *))
{
	int word = 0;

	s->cpu = last_cpu;
	s->priority = 10;
	s->word = &word;
	start(s, t->name, "h", work);
	await(&s->ready);
	begin(t);
	s->begun = 1;
	lock(&word);
	end(t);
	unlock(&word);
	pthread_join(s->thread, NULL);
}

static void hold(struct side *s)
{
	lock(s->word);
	s->ready = 1;
	while (!s->begun)
		rest(MS / 20);
	while (__atomic_load_n(s->word, __ATOMIC_RELAXED) != 2)
		;
	s->at = now();
}

static void hold_asleep(struct side *s)
{
	hold(s);
	rest(20 * MS);
	s->ns = now() - s->at;
	unlock(s->word);
}

static void mutex_sleep(struct truth *t)
{
	struct side s = {0};

	wait_lock(t, &s, hold_asleep);
	part(t, "timer", "mutex-sleep-h", s.ns);
}

static void hold_busy(struct side *s)
{
	hold(s);
	s->ns = compute(20 * MS);
	unlock(s->word);
}

static void mutex_compute(struct truth *t)
{
	struct side s = {0};

	wait_lock(t, &s, hold_busy);
	part(t, "user code", "mutex-compute-h", s.ns);
}

/* disk_file opens a disk for reading, or a new file on one. */
static int disk_file(void)
{
	static char block[1 << 20];
	char name[PATH_MAX];
	struct stat st;
	int fd;

	if (!stat(disk_path, &st) && S_ISBLK(st.st_mode)) {
		fd = open(disk_path, O_RDONLY | O_DIRECT);
		if (fd < 0)
			die(disk_path);
		return fd;
	}
	snprintf(name, sizeof name, "%s/causes.%d", disk_path, getpid());
	fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
	if (fd < 0)
		die(name);
	memset(block, 1, sizeof block);
	for (int i = 0; i < 16; i++)
		if (write(fd, block, sizeof block) != sizeof block)
			die(name);
	fsync(fd);
	close(fd);
	fd = open(name, O_RDONLY | O_DIRECT);
	if (fd < 0)
		die(name);
	unlink(name);
	return fd;
}

static int disk = -1;
static void *disk_buffer;

/* A hypervisor may take the CPU away while the device is accessed, and the request may be complete when the
 * CPU comes back. To the kernel, that time does not exist, neither for the thread nor for the disk. */
static int has_host(void)
{
	long steal = 0;
	FILE *f = fopen("/proc/stat", "r");

	if (f) {
		if (fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %ld", &steal) != 1)
			steal = 0;
		fclose(f);
	}
	return steal > 0;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* read_disk reads for some time and measures bounds for the time for which it was blocked. Reading a clock
 * takes time, in which a hypervisor may take the CPU away. So the CPU time is read both within and around the
 * wall time. If a hypervisor takes the CPU for long, one read is as long as many others: the lower bound
 * omits such reads. */
static void read_disk(int64_t ns, int64_t *least, int64_t *most)
{
	static int64_t blocked[1 << 14];
	struct accounts a = account();
	size_t n = 0;

	*least = *most = 0;
	for (off_t at = 0; now() - a.wall < ns; at = (at + 65536) % (16 << 20)) {
		int64_t around = clock_ns(CLOCK_THREAD_CPUTIME_ID), wall = now(), within = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		struct rusage before, after;

		getrusage(RUSAGE_THREAD, &before);
		if (pread(disk, disk_buffer, 65536, at) != 65536)
			die("read");
		getrusage(RUSAGE_THREAD, &after);
		within = clock_ns(CLOCK_THREAD_CPUTIME_ID) - within;
		wall = now() - wall;
		around = clock_ns(CLOCK_THREAD_CPUTIME_ID) - around;
		if (after.ru_nvcsw != before.ru_nvcsw) {
			if (n < sizeof blocked / sizeof *blocked)
				blocked[n++] = wall - around;
			*most += wall - within;
		}
	}
	qsort(blocked, n, sizeof *blocked, by_size);
	for (size_t i = 0; i < n && blocked[i] <= 4 * blocked[n / 2]; i++)
		*least += blocked[i];
	*least = (*least - since(a).delay) / (has_host() ? 2 : 1);
}

static void hold_reading(struct side *s)
{
	hold(s);
	read_disk(20 * MS, &s->ns, &s->most);
	unlock(s->word);
}

static void mutex_disk(struct truth *t)
{
	struct side s = {0};

	wait_lock(t, &s, hold_reading);
	between(t, "disk", "mutex-disk-h", s.ns, s.most);
}

static void disk_reads(struct truth *t)
{
	int64_t least, most;

	begin(t);
	read_disk(10 * MS, &least, &most);
	end(t);
	between(t, "disk", "", least, most);
}

static void timer(struct truth *t)
{
	int64_t from;

	begin(t);
	from = now();
	rest(10 * MS);
	from = now() - from;
	end(t);
	part(t, "timer", "", from);
}

static void computes(struct truth *t)
{
	int64_t ns;

	begin(t);
	ns = compute(10 * MS);
	end(t);
	part(t, "user code", "", ns);
}

/* A chain of processes: a pipe to the first, a socket to the second, an eventfd to the third, a pipe back.
 * Each computes before it writes to the next one. */

static void pass(int from, int to, int64_t *ns)
{
	uint64_t word;

	if (read(from, &word, sizeof word) <= 0)
		exit(1);
	*ns = compute(5 * MS);
	word = 1;
	if (write(to, &word, sizeof word) < 0)
		exit(1);
}

static void chain(struct truth *t)
{
	int there[2], middle[2], back[2], event = eventfd(0, 0);
	int64_t *ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t word = 1;
	pid_t pids[3];

	if (pipe(there) || socketpair(AF_UNIX, SOCK_STREAM, 0, middle) || pipe(back))
		die("pipe");
	int from[] = {there[0], middle[1], event}, to[] = {middle[0], event, back[1]};
	for (int i = 0; i < 3; i++) {
		char name[] = "chain-a";

		name[6] += i;
		pids[i] = fork();
		if (!pids[i]) {
			be(name, last_cpu, 10);
			pass(from[i], to[i], &ns[i]);
			exit(0);
		}
	}
	rest(10 * MS); /* they wait */
	begin(t);
	if (write(there[1], &word, sizeof word) < 0 || read(back[0], &word, sizeof word) < 0)
		die("chain");
	end(t);
	for (int i = 0; i < 3; i++)
		waitpid(pids[i], NULL, 0);
	part(t, "user code", "chain-c>chain-b>chain-a", ns[0]);
	part(t, "user code", "chain-c>chain-b", ns[1]);
	part(t, "user code", "chain-c", ns[2]);
}

static void child(struct truth *t)
{
	int64_t *ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int go[2];
	char c = 0;
	pid_t pid;

	if (pipe(go))
		die("pipe");
	pid = fork();
	if (!pid) {
		be("child-c", last_cpu, 10);
		if (read(go[0], &c, 1) == 1)
			*ns = compute(10 * MS);
		_exit(0);
	}
	rest(5 * MS);
	begin(t);
	if (write(go[1], &c, 1) == 1)
		waitpid(pid, NULL, 0);
	end(t);
	part(t, "user code", "child-c", *ns);
}

/* A thread that waits for its CPU, which another thread keeps. */

static void hog(struct side *s)
{
	s->ready = 1;
	while (!s->begun)
		rest(MS / 20);
	rest(MS / 2);
	s->ns = compute(20 * MS);
}

static void behind(struct truth *t)
{
	struct side s = {.cpu = 0, .priority = 20};
	struct accounts a, all;

	start(&s, t->name, "h", hog);
	await(&s.ready);
	s.begun = 1;
	all = account();
	begin(t);
	a = account();
	rest(2 * MS); /* it wakes while the other computes */
	a = since(a);
	end(t);
	all = since(all);
	pthread_join(s.thread, NULL);
	between(t, "runnable behind", "", a.delay, all.delay);
	part(t, "timer", "", blocked(a));
}

static void put(const char *dir, const char *file, const char *text)
{
	char name[PATH_MAX];
	int fd;

	snprintf(name, sizeof name, "%s/%s", dir, file);
	fd = open(name, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(name);
	close(fd);
}

/* in_cgroup makes a cgroup and moves the calling process to it. */
static void in_cgroup(const char *name)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof dir, "%s/%s", cgroup_dir, name);
	mkdir(dir, 0755);
	put(dir, "cgroup.procs", "0");
}

/* A process of another cgroup has the CPU, with an equal share. */
static void behind_cgroup(struct truth *t)
{
	_Atomic int *state = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct accounts a, all;
	pid_t pid = fork();

	if (!pid) {
		be("behind-cgroup-h", 0, 0);
		in_cgroup("hog");
		state[0] = 1;
		while (!state[1])
			compute(MS / 10);
		_exit(0);
	}
	await(&state[0]);
	be(t->name, 0, 0);
	rest(10 * MS);
	all = account();
	begin(t);
	a = account();
	compute_alone(15 * MS);
	a = since(a);
	end(t);
	all = since(all);
	state[1] = 1;
	waitpid(pid, NULL, 0);
	between(t, "runnable behind", "", a.delay, all.delay);
	between(t, "user code", "", a.cpu, all.cpu);
}

/* A cgroup with a quota of 5 ms of CPU time in each 50 ms. */
static void quota(struct truth *t)
{
	char dir[PATH_MAX], max[PATH_MAX + 10];
	struct truth *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	snprintf(dir, sizeof dir, "%s/quota", cgroup_dir);
	mkdir(dir, 0755);
	snprintf(max, sizeof max, "%s/cpu.max", dir);
	if (!access(max, F_OK)) {
		put(dir, "cpu.max", "5000 50000");
	} else {
		put(dir, "cpu.cfs_period_us", "50000");
		put(dir, "cpu.cfs_quota_us", "5000");
	}
	pid = fork();
	if (!pid) {
		struct accounts a, all;

		be(t->name, 0, 0);
		in_cgroup("quota");
		rest(60 * MS);
		all = account();
		begin(t);
		a = account();
		compute_alone(12 * MS);
		a = since(a);
		end(t);
		all = since(all);
		between(t, "CPU quota", "", a.delay, all.delay);
		between(t, "user code", "", a.cpu, all.cpu);
		*shared = *t;
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	*t = *shared;
}

/* The lock's holder waits for its CPU, which a third thread keeps. */

static void hog_cpu(struct side *s)
{
	await(&s->begun);
	s->ns = compute(20 * MS);
}

static void hold_low(struct side *s)
{
	struct side hog = {.cpu = last_cpu, .priority = 15};
	struct accounts a;

	start(&hog, "inversion", "hog", hog_cpu);
	hold(s);
	a = account();
	hog.begun = 1;
	compute_alone(2 * MS);
	a = since(a);
	s->ns = a.delay;
	s->at = a.cpu;
	unlock(s->word);
	pthread_join(hog.thread, NULL);
}

static void inversion(struct truth *t)
{
	struct side s = {0};

	wait_lock(t, &s, hold_low);
	part(t, "runnable behind", "inversion-h", s.ns);
	part(t, "user code", "inversion-h", s.at);
}

/* A lock of the kernel: a thread writes to a file and waits for another writer, which was preempted on the
 * same CPU. (A thread that waits for a writer on another CPU would spin.) */

static int shared_file;
static char *much;
enum { MUCH = 32 << 20 };

static void write_much(struct side *s)
{
	s->ready = 1;
	while (!s->begun)
		rest(MS / 20);
	if (pwrite(shared_file, much, MUCH, 0) != MUCH)
		die("write");
	s->at = now();
}

static void kernel_lock(struct truth *t)
{
	struct side s = {.cpu = 0, .priority = 10};
	int64_t from;

	shared_file = memfd_create("shared", 0);
	much = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	start(&s, t->name, "h", write_much);
	await(&s.ready);
	s.begun = 1;
	rest(2 * MS);
	begin(t);
	from = now();
	if (pwrite(shared_file, "x", 1, 0) != 1)
		die("write");
	end(t);
	pthread_join(s.thread, NULL);
	munmap(much, MUCH);
	close(shared_file);
	part(t, "system call", "kernel-lock-h", s.at - from);
}

/* Page faults: pages that are not present are accessed one by one. */
static void faults(struct truth *t)
{
	enum { PAGES = 4000 };
	char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int64_t from, took;

	madvise(memory, PAGES * 4096, MADV_NOHUGEPAGE);
	begin(t);
	from = now();
	for (int i = 0; i < PAGES; i++)
		((volatile char *)memory)[i * 4096] = 1;
	took = now() - from;
	end(t);
	munmap(memory, PAGES * 4096);
	between(t, "page fault", "", took / 2, took); /* without the time to enter and leave the kernel */
}

/* Packets arrive on the span's CPU, in a separate network namespace, until the span has ended. The time of
 * their softirqs is the sum of the gaps between the span's readings of the clock. */

static void storm(struct side *s)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	while (!s->begun) {
		sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
		s->ready++;
	}
	close(fd);
}

/* own_network moves the process to a new network namespace, whose packets to itself arrive on CPU 0. */
static int own_network(void)
{
	char dir[] = "/tmp/causes.XXXXXX";
	struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd, ok;

	if (unshare(CLONE_NEWNS | CLONE_NEWNET) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	if (!mkdtemp(dir))
		return -1;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ok = !mount("none", dir, "sysfs", 0, NULL) && !ioctl(fd, SIOCSIFFLAGS, &r);
	if (ok) {
		put(dir, "class/net/lo/queues/rx-0/rps_cpus", "1");
		umount(dir);
	}
	close(fd);
	rmdir(dir);
	return ok ? 0 : -1;
}

static void softirqs(struct truth *t)
{
	struct side s = {.cpu = last_cpu, .priority = 10};
	int64_t from, last, time, gaps = 0;
	struct truth *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		*t = *shared;
		return;
	}
	if (own_network())
		_exit(0);
	start(&s, t->name, "h", storm);
	await(&s.ready);
	begin(t);
	for (from = last = now(); last - from < 10 * MS; last = time) {
		time = now();
		if (time - last > 1500)
			gaps += time - last;
	}
	end(t);
	s.begun = 1;
	/* Events do not show the time to enter and leave an interrupt, nor the time of a hypervisor. */
	between(t, "stolen", "", gaps / 3, gaps);
	*shared = *t;
	_exit(0);
}

/* All scenarios. */

struct scenario {
	const char *name;
	void (*run)(struct truth *);
	int needs_disk, needs_cgroup;
	struct truth truth;
};

static struct scenario scenarios[] = {
	{"mutex-sleep", mutex_sleep},
	{"mutex-compute", mutex_compute},
	{"mutex-disk", mutex_disk, .needs_disk = 1},
	{"disk", disk_reads, .needs_disk = 1},
	{"timer", timer},
	{"computes", computes},
	{"chain", chain},
	{"child", child},
	{"behind", behind},
	{"behind-cgroup", behind_cgroup, .needs_cgroup = 1},
	{"quota", quota, .needs_cgroup = 1},
	{"inversion", inversion},
	{"kernel-lock", kernel_lock},
	{"faults", faults},
	{"softirqs", softirqs},
};

static void *run_scenario(void *arg)
{
	struct scenario *s = arg;

	be(s->name, 0, 12);
	rest(2 * MS);
	s->truth.name = s->name;
	s->run(&s->truth);
	return NULL;
}

static int wanted(struct scenario *s, char **names)
{
	if ((s->needs_disk && !disk_path) || (s->needs_cgroup && !cgroup_dir))
		return 0;
	for (char **n = names; *n; n++)
		if (!strcmp(*n, s->name))
			return 1;
	return !*names;
}

/* keep_busy uses a CPU when no other thread does, since some kernels do not report events to perf while a CPU
 * is idle. */
static void *keep_busy(void *cpu)
{
	struct sched_param p = {0};

	prctl(PR_SET_NAME, "keep-busy");
	pin((intptr_t)cpu);
	sched_setscheduler(0, SCHED_IDLE, &p);
	for (;;)
		compute(MS);
	return NULL;
}

int main(int argc, char **argv)
{
	int opt, wait = 0;

	while ((opt = getopt(argc, argv, "d:g:o:w:")) != -1)
		switch (opt) {
		case 'd': disk_path = optarg; break;
		case 'g': cgroup_dir = optarg; break;
		case 'o':
			if (!freopen(optarg, "w", stdout))
				die(optarg);
			break;
		case 'w': wait = atoi(optarg); break;
		default: return 2;
		}
	last_cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	if (disk_path) {
		disk = disk_file();
		if (posix_memalign(&disk_buffer, 65536, 65536))
			die("memory");
	}
	for (intptr_t cpu = 0; cpu <= last_cpu; cpu++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, keep_busy, (void *)cpu))
			die("thread");
	}
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
		struct scenario *s = &scenarios[i];
		pthread_t thread;

		if (!wanted(s, argv + optind))
			continue;
		rest(wait * (int64_t)MS);
		if (pthread_create(&thread, NULL, run_scenario, s))
			die("thread");
		pthread_join(thread, NULL);
		printf("{\"name\":\"%s\",\"tid\":%d,\"ns\":%ld,\"parts\":[%s]}\n", s->name, s->truth.tid,
		       s->truth.to - s->truth.from, s->truth.parts);
		fflush(stdout);
	}
	return 0;
}
