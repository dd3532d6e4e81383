// Functions with frames of many kinds.
#include <alloca.h>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern "C" long inner(long n, long (*back)(long));

volatile long sink;

__attribute__((noinline)) long burn(long n)
{
	long s = n;
	for (long i = 0; i < n; i++)
		s = s * 31 + i;
	sink += s;
	return s;
}

static int compare(const void *a, const void *b)
{
	burn(20);
	return *(const int *)a - *(const int *)b;
}

extern "C" __attribute__((noinline)) long sorts(long n)
{
	int v[256];
	for (int i = 0; i < 256; i++)
		v[i] = (i * 7919) % 256;
	qsort(v, 256, sizeof(int), compare);
	return v[n & 255] + 1;
}

extern "C" __attribute__((noinline)) long dynamic(long n)
{
	char *p = (char *)alloca(64 + (n & 255));
	memset(p, 1, 64);
	return burn(300) + p[n & 63] + 1;
}

typedef float wide __attribute__((vector_size(32), aligned(32)));

extern "C" __attribute__((noinline)) long aligned(long n)
{
	volatile wide x[4];
	for (int i = 0; i < 4; i++)
		x[i] = (wide){1, 2, 3, 4, 5, 6, 7, (float)n};
	char *p = (char *)alloca(16 + (n & 31));
	p[0] = 1;
	return burn(300) + (long)x[n & 3][7] + p[0];
}

extern "C" __attribute__((noinline)) long throws(long n)
{
	struct last {
		~last() { burn(100); }
	} at_the_end;
	if (n % 3 == 0)
		throw std::runtime_error("again");
	return burn(50) + 1;
}

extern "C" __attribute__((noinline)) long recurses(long n)
{
	if (n <= 0)
		return burn(400);
	return recurses(n - 1) * 3 + burn(10);
}

extern "C" __attribute__((noinline)) long outer(long n)
{
	return inner(n, [](long k) { return dynamic(k) + aligned(k); }) + 1;
}
