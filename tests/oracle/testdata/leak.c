/* Makes sixty allocations. The ten of leaky are never freed, unless there is an
 * argument. */
#include <stdlib.h>

__attribute__((noinline)) void *leaky(int n) { void *p = malloc(n); *(volatile char *)p = 1; return p; }
__attribute__((noinline)) void tidy(int n) { void *p = malloc(n); *(volatile char *)p = 1; free(p); }

int main(int argc, char **argv)
{
	for (int i = 0; i < 50; i++) {
		tidy(100);
		if (i % 5 == 0) {
			void *p = leaky(1000 + i);
			if (argc > 1)
				free(p);
		}
	}
	return 0;
}
