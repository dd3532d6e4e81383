/* A program with known shares of time: three quarters in hot_a, a quarter in hot_b,
 * both called by middle. It computes for a number of milliseconds of CPU time, not
 * for a number of rounds, since CPUs differ much in speed. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

volatile unsigned long sink;
static volatile sig_atomic_t over;

static void end(int sig) { over = sig; }

/* A sum in memory would be slower by up to half, depending on addresses. So it is in a register. */
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
	signal(SIGPROF, end); /* calls that read the time would be in samples */
	setitimer(ITIMER_PROF, &time, NULL);
	while (!over)
		middle(50000);
	return 0;
}
