#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) int twice(int x)
{
	volatile int y = x;
	return y + y;
}

__attribute__((noinline)) int once(int x)
{
	return twice(x) + 1;
}

enum color { RED, GREEN = 7 };
struct point { int x, y; };

__attribute__((noinline)) long takes(int a, const char *name, double d, short s, _Bool b, enum color c, struct point *p)
{
	__asm__ volatile("");
	return a + s + b + c + p->x + (long)d + name[0];
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10, sum = 0;
	struct point p = {3, 4};
	for (int i = 0; i < n; i++) {
		sum += twice(i);
		if (i % 2)
			sum += once(i);
		printf("%ld\n", takes(-i, "some text", 1.5, i - 5, i & 1, GREEN, &p));
	}
	printf("%d\n", sum);
	return 0;
}
