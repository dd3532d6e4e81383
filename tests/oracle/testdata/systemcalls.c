// Makes known numbers of system calls: calls whose events have other names, calls that fail, and 32-bit
// calls, which have different numbers and no events.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static void none(int signal)
{
	_exit(0); // this kernel has no 32-bit calls
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
		long number = 64; // getppid for 32 bits, but semget for 64 bits
		asm volatile("int $0x80" : "+a"(number) : : "memory");
	}
#endif
	return 0;
}
