// Two functions whose rarely executed code the compiler moves to a separate section.

volatile int count;

__attribute__((cold, noinline)) void rare(void) { count++; }

__attribute__((noinline)) int other(int n)
{
	if (n == 7)
		rare();
	return n + count;
}

__attribute__((noinline)) int evaluates(int n)
{
	for (int i = 0; i < 100; i++) {
		n += other(n);
		if (n == 1000) {
			rare();
			n ^= count;
		}
		if (n == 2000) {
			rare();
			n += other(n);
		}
	}
	return other(n);
}

int main(int argc, char **argv) { return evaluates(argc); }
