// A program for tests: a signal handler computes. It is called while a function
// without a frame pointer computes.
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

volatile unsigned long sink;

__attribute__((noinline)) void in_handler(void)
{
	for (int i = 0; i < 400000; i++)
		sink += i;
	sink++;
}

__attribute__((noinline)) void handler(int sig)
{
	in_handler();
	sink += sig;
}

__attribute__((noinline)) int interrupted(int n)
{
	char pad[200];

	memset(pad, n, sizeof pad);
	for (int i = 0; i < 1000000; i++)
		sink += pad[i % 200];
	return sink;
}

int main(void)
{
	struct itimerval each = {{0, 2000}, {0, 2000}};
	clock_t end = clock() + CLOCKS_PER_SEC / 2;

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &each, 0);
	while (clock() < end)
		sink += interrupted(3);
	return 0;
}
