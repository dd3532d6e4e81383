// Routines for tests.

#include "kernel.h"

map(control);
extern char number[];

// count_down is the body of a loop (a turn). It counts down a word of a map, whose address the
// program passes.
routine long count_down(u64 turn, u64 **memory)
{
	u64 *left = *memory;
	if (!*left)
		return 1;
	--*left;
	return 0;
}

routine __attribute__((noinline)) long product(u64 x, u64 y) { return x * y; }

routine long read_control(void)
{
	u32 key = 0;
	u64 *value = map_lookup(&control, &key);
	return value ? *value : 0;
}

routine int give(void *context) { return given(number); }

// deep needs 200 bytes of stack.
routine long deep(u64 x)
{
	volatile u64 words[25];
	for (int i = 0; i < 25; i++)
		words[i] = x;
	return product(words[3], words[24]);
}
