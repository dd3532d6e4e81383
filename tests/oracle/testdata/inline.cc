// Computes in functions that the compiler puts into their callers.
#include <cstdlib>

volatile double sink;

static inline __attribute__((always_inline)) double inner(double x) {
	double s = 0;
	for (int i = 0; i < 1000; i++)
		s += x / (i + 1); // innermost
	return s;
}

static inline __attribute__((always_inline)) double outer(double x) {
	return inner(x) + 1; // calls inner
}

__attribute__((noinline)) void work(int n) {
	for (int i = 0; i < n; i++)
		sink = outer(i); // calls outer
}

int main(int argc, char **argv) {
	work(atoi(argv[1]));
	return sink < 0;
}
