/* A program with all kinds of frames, for comparison with a debugger. Every
 * run does the same. */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEEP __attribute__((noinline, noclone))

volatile unsigned long sink;
static char *page;
static jmp_buf out;

/* Has no frame. */
KEEP void leaf(long n) { sink += n; }

KEEP long leaf2(long n)
{
	sink ^= n;
	return sink;
}

KEEP int descend(int n)
{
	if (n == 0)
		leaf(n);
	else
		sink += descend(n - 1);
	return n + 1;
}

/* Ends with a jump to another function. */
KEEP long tail(long n)
{
	leaf(n);
	return leaf2(n + 1);
}

/* Moves the stack pointer by a number that is only known at run time. */
KEEP void dynamic(int n)
{
	char *p = alloca(n);

	memset(p, n, n);
	leaf(p[n - 1]);
	leaf(p[0]);
}

/* Aligns the stack pointer, and keeps the caller's in a register. */
KEEP void aligned(int n)
{
	_Alignas(64) volatile char buf[128];

	for (int i = 0; i < 3; i++)
		buf[i] = n;
	leaf(buf[2]);
	dynamic(n + buf[1]);
}

/* Saves all callee-saved registers. */
KEEP long busy(long a, long b, long c, long d, long e, long f)
{
	long x = leaf2(a), y = leaf2(b), z = leaf2(c);

	return leaf2(a + x) + b * y + c * z + d * x + e * y + f * z;
}

/* Has arguments on the stack. */
KEEP long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return busy(a + g, b + h, c, d, e, f);
}

/* Makes its frame only after the test, and may return before. */
KEEP long late(long n)
{
	if (n < 3)
		return n;
	return busy(n, 1, 2, 3, 4, 5) + many(n, 1, 2, 3, 4, 5, 6, 7);
}

/* Has a frame larger than a page. */
KEEP void large(int n)
{
	volatile char buf[6000];

	buf[0] = buf[5999] = n;
	leaf(buf[0] + buf[5999]);
}

KEEP int compare(const void *a, const void *b)
{
	leaf(1);
	return *(const int *)a - *(const int *)b;
}

KEEP void sorter(void)
{
	int v[6] = {5, 3, 4, 1, 2, 0}, key = 4;

	qsort(v, 6, sizeof v[0], compare);
	sink += (bsearch(&key, v, 6, sizeof v[0], compare) != NULL);
}

/* Never returns: its last instruction is a call. */
KEEP __attribute__((noreturn)) void away(int n)
{
	leaf(n);
	longjmp(out, n);
}

KEEP void jump(int n)
{
	if (setjmp(out) == 0)
		away(n);
	leaf(n);
}

KEEP void handler(int sig)
{
	leaf(sig);
	descend(2);
}

KEEP void fault(int sig)
{
	leaf(sig);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* The fault interrupts a function without a frame. */
KEEP int touch(char *p)
{
	sink += 3;
	*p = 1;
	return sink;
}

KEEP void signals(int n)
{
	mprotect(page, 4096, PROT_NONE);
	sink += touch(page + n);
	raise(SIGUSR1);
}

/* Writes pages of the stack, since the kernel copies no untouched pages. */
KEEP void prefault(void)
{
	volatile char buf[32768];

	for (unsigned i = 0; i < sizeof buf; i += 1024)
		buf[i] = 0;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler};

	prefault();
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = fault;
	sigaction(SIGSEGV, &sa, NULL);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 2; i < 5; i += 2) {
		descend(i);
		tail(i);
		dynamic(40 * i);
		aligned(i);
		late(i);
		large(i);
		sorter();
		jump(i);
		signals(i);
	}
	return 0;
}
