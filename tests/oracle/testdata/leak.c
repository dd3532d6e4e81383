/* Sixty allocations, of which leaky's ten are never freed. */
#include <stdlib.h>

__attribute__((noinline)) void *leaky(int n) { void *p = malloc(n); *(volatile char *)p = 1; return p; }
__attribute__((noinline)) void tidy(int n) { void *p = malloc(n); *(volatile char *)p = 1; free(p); }

int main(void)
{
	for (int i = 0; i < 50; i++) {
		tidy(100);
		if (i % 5 == 0)
			leaky(1000 + i);
	}
	return 0;
}
