/* The target of live tests: all numbers of its calls are known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

long total;
int counter = 7;

__attribute__((noinline)) long work(int a, const char *s, long b) {
	total = 1000 + a;
	__asm__ volatile("" ::: "memory");
	return b * 2 + (long)strlen(s);
}

#if defined(__x86_64__) || defined(__aarch64__)
/* An ELF note of a probe, as sys/sdt.h makes it. */
#define NOTE(name, sem, args)                                             \
	"990: nop\n"                                                      \
	".pushsection .note.stapsdt,\"?\",\"note\"\n"                     \
	".balign 4\n .4byte 992f-991f, 994f-993f, 3\n"                    \
	"991: .asciz \"stapsdt\"\n 992: .balign 4\n"                      \
	"993: .8byte 990b\n .8byte _.stapsdt.base\n .8byte " sem "\n"     \
	" .asciz \"demo\"\n .asciz \"" name "\"\n .asciz \"" args "\"\n"  \
	"994: .balign 4\n.popsection\n"
__asm__(".section .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n.previous\n");
__attribute__((section(".probes"), used)) unsigned short demo_gate_semaphore;
#endif

__attribute__((noinline)) void probes(int i) {
	volatile long local = 5000 + i;
	long table[4] = {10, 20, 30, 40};
#if defined(__x86_64__)
	register long small __asm__("rbx") = -3 - i;
	register char *text __asm__("r12") = "text of a probe";
	register long *tab __asm__("r13") = table;
	register long index __asm__("r14") = i & 3;
	__asm__ volatile(NOTE("args", "0", "-4@%%ebx 8@%%r12 8@$42 -1@%%bl 8@%0 8@(%%r13,%%r14,8) 4@counter(%%rip) 8f@%%xmm0")
		: : "m"(local), "r"(small), "r"(text), "r"(tab), "r"(index), "m"(table));
	if (__builtin_expect(*(volatile unsigned short *)&demo_gate_semaphore, 0))
		__asm__ volatile(NOTE("gate", "demo_gate_semaphore", "8@%%rbx") : : "r"(small));
#elif defined(__aarch64__)
	register long small __asm__("x19") = -3 - i;
	register char *text __asm__("x20") = "text of a probe";
	register long *tab __asm__("x21") = table;
	register long index __asm__("x22") = i & 3;
	__asm__ volatile(NOTE("args", "0", "-4@w19 8@x20 8@42 -1@w19 8@%0 8@[x21, x22, lsl 3]")
		: : "m"(local), "r"(small), "r"(text), "r"(tab), "r"(index), "m"(table));
	if (__builtin_expect(*(volatile unsigned short *)&demo_gate_semaphore, 0))
		__asm__ volatile(NOTE("gate", "demo_gate_semaphore", "8@x19") : : "r"(small));
#endif
	getppid(); /* not a leaf: its locals are above the stack pointer */
}

/* Waits for a line, does N rounds, prints that, and waits for the end of its input,
 * so that the test can read its memory until then. */
int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 10;
	char line[16];
	printf("ready %p\n", (void *)&total);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	for (int i = 0; i < n; i++) {
		work(i - 3, i % 2 ? "odd" : "even", 1L << 33);
		probes(i);
	}
	printf("done\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		;
	return 0;
}
