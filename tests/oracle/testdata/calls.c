/* Calls with known numbers: work_a 10 times, work_b 25 times, rest 5 times. */
__attribute__((noinline)) void work_a(void) { __asm__ volatile(""); }
__attribute__((noinline)) void work_b(void) { __asm__ volatile(""); }
__attribute__((noinline)) void rest(void) { __asm__ volatile(""); }

int main(void)
{
	for (int i = 0; i < 25; i++) {
		work_b();
		if (i < 10)
			work_a();
		if (i < 5)
			rest();
	}
	return 0;
}
