// Uses time in user code and in the kernel, and sleeps, with known stacks; used by make-deferred.sh.
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CALL __attribute__((noinline, noclone))

static char block[1 << 20];

CALL static void sleeps(void)
{
	nanosleep(&(struct timespec){0, 2000000}, NULL);
}

CALL static long computes(long n)
{
	volatile long x = 0;
	for (long i = 0; i < n; i++)
		x += i;
	return x;
}

CALL static void reads(int fd)
{
	for (int i = 0; i < 4; i++)
		if (read(fd, block, sizeof block) < 0)
			exit(1);
}

CALL static long works(int fd, int i)
{
	long x = computes(300000);
	reads(fd);
	if (i % 4 == 0)
		sleeps();
	return x + 1;
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	long x = 0;
	for (int i = 0; i < 80; i++)
		x += works(fd, i);
	return x == 1;
}
