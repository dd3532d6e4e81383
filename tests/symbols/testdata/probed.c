#include <stdio.h>

struct item { int id; long weight; };

static int twice(int n)
{
	return 2 * n + 1;
}

int total(struct item *list, int n, const char *name)
{
	long sum = 0;
	for (int i = 0; i < n; i++) {
		int w = list[i].weight;
		if (w > 3)
			sum += twice(w);
	}
	printf("%s %ld\n", name, sum);
	return sum;
}

int main(int argc, char **argv)
{
	struct item list[3] = {{1, 2}, {3, 4}, {5, 6}};
	return total(list, argc + 1, argv[0]) > 1000;
}
