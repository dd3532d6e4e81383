/* A program whose time is known: three quarters in hot_a, a quarter in hot_b,
 * both called by middle. It computes for so many rounds and ends. */
#include <stdlib.h>

volatile unsigned long sink;

__attribute__((noinline)) void hot_a(long n) { for (long i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void hot_b(long n) { for (long i = 0; i < n; i++) sink += i * 3; }
__attribute__((noinline)) void middle(long n) { hot_a(3 * n); hot_b(n); sink++; }

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1000;
	for (long i = 0; i < rounds; i++)
		middle(10000);
	return 0;
}
