#include <stdlib.h>

/* Functions with structures that are passed in registers or in memory. */

struct span { const char *name; unsigned count; short low; signed char tag; };
struct pair { int x, y; };
struct wrap { struct pair p; };
struct large { long a, b, c; };
struct mixed { double d; int n; };

#define CALL __attribute__((noinline, noclone))
#define KEPT __asm__ volatile("" ::: "memory")

CALL long spans(int id, struct span s, long behind)
{
	KEPT;
	return id + s.name[0] + s.count + s.low + s.tag + behind;
}

CALL long pairs(struct pair p, struct wrap w, int last)
{
	KEPT;
	return p.x + p.y + w.p.x - w.p.y + last;
}

CALL long larges(struct large b, int last)
{
	KEPT;
	return b.a + b.b + b.c + last;
}

CALL double mixes(struct mixed m, int last)
{
	KEPT;
	return m.d + m.n + last;
}

CALL struct pair gives(int i)
{
	KEPT;
	return (struct pair){i, 2 * i};
}

int main(int argc, char **argv)
{
	long sum = 0;
	for (int i = 0; i < atoi(argv[1]); i++) {
		sum += gives(i).y;
		sum += spans(i, (struct span){"some text", 3000000000u + i, -7 - i, -i}, 40 + i);
		sum += pairs((struct pair){-i, 10 + i}, (struct wrap){{20 + i, -30 - i}}, 5 + i);
		sum += larges((struct large){i, 2, 3}, 8 + i);
		sum += mixes((struct mixed){1.5, i}, 3 + i);
	}
	return sum == 1;
}
