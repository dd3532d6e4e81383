#include <stdio.h>
#include <stdlib.h>

/* Functions whose parameters are not in the registers of the calling convention. */

struct large { long v[4]; };
struct pair { long x, y; };

__attribute__((noinline)) struct large gives(int a, const char *name)
{
	__asm__ volatile("");
	return (struct large){{a, name[0], 3, 4}};
}

__attribute__((noinline)) long behind(struct pair p, int a, const char *name)
{
	__asm__ volatile("");
	return p.x + p.y + a + name[0];
}

static __attribute__((noinline)) long fewer(int unused, long also, int a, const char *name)
{
	__asm__ volatile("");
	return a + name[0];
}

static __attribute__((noinline)) long constant(int seven, int a, const char *name)
{
	__asm__ volatile("");
	return seven * a + name[0];
}

static __attribute__((noinline, cold)) void complain(const char *name)
{
	fprintf(stderr, "%s\n", name);
}

__attribute__((noinline)) long rare(int a, const char *name)
{
	if (a > 1000) {
		complain(name);
		complain("it is too large");
		exit(1);
	}
	__asm__ volatile("");
	return a + name[0];
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	const char *text = argc > 2 ? argv[2] : "some text";
	long sum = puts(text); /* the text is in memory */
	for (int i = 0; i < n; i++) {
		sum += gives(-i, text).v[1];
		sum += behind((struct pair){i, 2}, -i, text);
		sum += fewer(i, sum, -i, text);
		sum += constant(7, -i, text);
		sum += rare(-i, text);
	}
	printf("%ld\n", sum);
	return 0;
}
