// It makes known numbers of system calls, whose events have other names than the calls, fail, or are those
// of 32 bits: these have numbers of their own, and no events.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void none(int signal)
{
	_exit(0); // this kernel has no calls of 32 bits
}

int main(void)
{
	int i;
	char name[400];

	for (i = 0; i < 7; i++)
		syscall(SYS_getppid);
	for (i = 0; i < 5; i++)
		syscall(SYS_uname, name);
	for (i = 0; i < 11; i++)
		syscall(SYS_fstat, -1, name);
	for (i = 0; i < 13; i++)
		syscall(SYS_sendfile, -1, -1, 0, 1);
	for (i = 0; i < 17; i++)
		syscall(SYS_umount2, "", 0);
#ifdef __x86_64__
	signal(SIGSEGV, none);
	for (i = 0; i < 19; i++) {
		long number = 64; // getppid of 32 bits, and semget of 64
		asm volatile("int $0x80" : "+a"(number) : : "memory");
	}
#endif
	return 0;
}
