// A program that does known work. "work CALLS ROUNDS" makes CALLS calls of getppid, and some others, in
// each of ROUNDS rounds, with a sleep between rounds. "work PERCENT MS burn" computes for MS of CPU time,
// with PERCENT of the usual work in parse. Time is given, since CPUs differ in speed by up to ten times.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

volatile unsigned long sum;

// A sum in memory would be slower by up to half, depending on its address. So it is in a register.
#define ADD(by) \
	do { \
		unsigned long s = sum; \
		for (int i = 0; i < n; i++) { \
			s += i * by; \
			__asm__ volatile("" : "+r"(s)); \
		} \
		sum = s; \
	} while (0)

#define WORK __attribute__((noinline, aligned(64))) void

WORK parse(int n) { ADD(3); }
WORK format(int n) { ADD(5); }
WORK lookup(int n) { ADD(7); }
WORK request(int percent) { parse(200 * percent); format(15000); lookup(15000); }

int main(int argc, char **argv) {
	int calls = atoi(argv[1]), rounds = atoi(argv[2]);
	if (argc > 3) {
		while (clock() < (clock_t)rounds * (CLOCKS_PER_SEC / 1000))
			request(calls);
		return 0;
	}
	struct timespec pause = {0, 2000000};
	char buf[64];
	int zero = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < calls; k++)
			syscall(SYS_getppid);
		for (int k = 0; k < 60; k++)
			if (read(zero, buf, sizeof buf) < 0)
				return 1;
		for (int k = 0; k < 20; k++)
			lseek(zero, 0, SEEK_SET);
		nanosleep(&pause, NULL);
	}
	return 0;
}
