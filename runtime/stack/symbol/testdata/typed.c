// A program for tests whose functions have parameters of types that -fdebug-types-section puts into
// separate units: nested structures, pointers to structures, a union, an enumeration, and typedefs.
#include <stdlib.h>

struct point { int x, y; };
enum color { RED, GREEN = 5, BLUE };
union word { long number; char bytes[8]; };
typedef struct line { struct point from, to; } line;
struct list { struct list *next; enum color color; const line *of; union word word; };

volatile long sink;

static inline long far(struct point p)
{
	long n = 0;

	for (int i = 0; i < p.x; i++)
		n += sink + i * p.y;
	return n;
}

__attribute__((noinline)) long shop_paint(struct point at, enum color color, struct list *list)
{
	sink += at.x + color + list->word.number;
	return far(at);
}

__attribute__((noinline)) enum color shop_mix(line *l, union word *w, const struct list *const *all, double share)
{
	sink += l->to.y + w->number + (all != NULL) + share;
	return sink % 2 ? RED : BLUE;
}

int main(int argc, char **argv)
{
	line l = {{argc, 2}, {3, 4}};
	struct list list = {NULL, GREEN, &l, {atoi(argv[argc - 1])}};
	const struct list *one = &list;

	sink += shop_paint(l.from, list.color, &list);
	sink += shop_mix(&l, &list.word, &one, 0.5);
	return sink == 0;
}
