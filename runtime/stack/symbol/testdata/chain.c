// A program for tests whose call chains are known: a recursion of 13 calls, and
// a comparison function that the C library calls. Its argument is the CPU time
// in seconds for which it runs.
#include <stdlib.h>
#include <string.h>
#include <time.h>

volatile unsigned long sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) void leaf(unsigned long n)
{
	char buf[64];

	for (unsigned long i = 0; i < n; i++) {
		sink += i * i;
		buf[i % 64] = sink;
	}
	sink += buf[3];
}

__attribute__((noinline)) int recurse(int depth, unsigned long n)
{
	char pad[100];

	memset(pad, depth, sizeof pad);
	if (depth == 0)
		leaf(n);
	else
		sink += recurse(depth - 1, n);
	sink += pad[depth % 100];
	return pad[5];
}

__attribute__((noinline)) int compare(const void *a, const void *b)
{
	for (int i = 0; i < 50; i++)
		sink += i;
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) void sorter(void)
{
	int v[2000];

	for (int i = 0; i < 2000; i++)
		v[i] = (i * 7919) % 2003;
	qsort(v, 2000, sizeof v[0], compare);
	sink += v[0];
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atof(argv[1]) : 1);

	while (now() < end) {
		recurse(12, 20000);
		sorter();
	}
	return 0;
}
