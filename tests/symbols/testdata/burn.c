/* Spends three quarters of its CPU time in one function and a quarter in another; its argument is in ms. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile unsigned long sink;
static volatile sig_atomic_t over;

static void end(int sig) { over = sig; }

/* A loop may take up to twice as long, depending on its position in a cache line. */
#define BURN __attribute__((noinline, aligned(64))) void

BURN burn_much(void)
{
	for (int i = 0; i < 3000; i++)
		sink += i;
}

BURN burn_little(void)
{
	for (int i = 0; i < 1000; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 300;

	struct itimerval time = { .it_value = { ms / 1000, ms % 1000 * 1000 } };
	signal(SIGPROF, end); /* calls that read the time would be in samples */
	setitimer(ITIMER_PROF, &time, NULL);
	while (!over) {
		burn_much();
		burn_little();
		sink++;
	}
	return 0;
}
