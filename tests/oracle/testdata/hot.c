/* A program whose time is known: three quarters in hot_a, a quarter in hot_b,
 * both called by middle. It computes for so many milliseconds of CPU time, since
 * CPUs differ by far in how many rounds they do meanwhile, and ends. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

volatile unsigned long sink;
static volatile sig_atomic_t over;

static void end(int sig) { over = sig; }

/* A sum in memory is faster or slower by half, by where it and the loop lie; one in a register is not. */
#define HOT(name) \
	__attribute__((noinline, aligned(64))) void name(long n) \
	{ \
		unsigned long s = sink; \
		for (long i = 0; i < n; i++) { \
			s += i * 3; \
			__asm__ volatile("" : "+r"(s)); \
		} \
		sink = s; \
	}

HOT(hot_a)
HOT(hot_b)
__attribute__((noinline)) void middle(long n) { hot_a(3 * n); hot_b(n); sink++; }

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 50;
	struct itimerval time = { .it_value = { ms / 1000, ms % 1000 * 1000 } };
	signal(SIGPROF, end); /* asking for the time would be seen in samples */
	setitimer(ITIMER_PROF, &time, NULL);
	while (!over)
		middle(50000);
	return 0;
}
