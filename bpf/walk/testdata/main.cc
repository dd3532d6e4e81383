// A program without frame pointers: libraries that call back, deep recursion, exceptions, handlers of
// signals, two threads. It prints a line when all has been called once, and goes on until its input
// ends.
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

extern "C" {
long outer(long);
long sorts(long);
long throws(long);
long recurses(long);
}
long burn(long);

static void handler(int) { burn(3000); }

__attribute__((noinline)) long work(long i)
{
	long s = outer(i) + sorts(i) + recurses(i % 40);
	if (i % 16 == 0)
		s += recurses(100);
	try {
		s += throws(i);
	} catch (...) {
		s += burn(100);
	}
	if (i % 64 == 0) {
		char text[64];
		s += snprintf(text, sizeof text, "%f %ld", (double)i, s);
	}
	return s + 1;
}

__attribute__((noinline)) long middle(long i) { return work(i) + 1; }

static void *forever(void *)
{
	long s = 0;
	for (long i = 0;; i++) {
		s += middle(i);
		if (i == 64) {
			puts("ready");
			fflush(stdout);
		}
	}
	return (void *)s;
}

int main()
{
	struct sigaction on = {};
	on.sa_handler = handler;
	on.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &on, 0);
	struct itimerval each = {{0, 5000}, {0, 5000}};
	setitimer(ITIMER_REAL, &each, 0);
	pthread_t t;
	pthread_create(&t, 0, forever, 0);
	for (char c; read(0, &c, 1) > 0;)
		;
	return 0;
}
