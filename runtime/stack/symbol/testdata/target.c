// A target for tests: it prints its pid and the address of a function, and ends
// at the end of its standard input, or immediately without an argument. With
// "jit", the address is of code that is only named in its perf map.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int sink;

__attribute__((noinline)) void marked_function(void)
{
	for (int i = 0; i < 100; i++)
		sink += i;
}

int main(int argc, char **argv)
{
	void *at = (void *)marked_function;

	if (argc > 1 && !strcmp(argv[1], "jit")) {
		char name[64];
		FILE *f;

		at = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
		f = fopen(name, "w");
		if (!f)
			return 1;
		fprintf(f, "%lx 40 first\n%lx 1000 LHello;::world [jit]\n", (long)at, (long)at + 0x40);
		fclose(f);
		at = (char *)at + 0x50;
	} else if (argc > 1 && !strcmp(argv[1], "vdso")) {
		/* nothing to do: the test only needs the mapping */
	}
	marked_function();
	printf("%d %p\n", getpid(), at);
	fflush(stdout);
	if (argc > 1)
		getchar();
	return 0;
}
