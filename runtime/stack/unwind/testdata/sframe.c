#include <alloca.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) int frame_leaf(int x)
{
	return x * 3 + 1;
}

__attribute__((noinline)) int frame_saves(int a, int b, int c, int d)
{
	volatile int many[20];
	for (int i = 0; i < 20; i++)
		many[i] = frame_leaf(a + i) + frame_leaf(b) * frame_leaf(c - d);
	return many[a & 15] + many[b & 15];
}

__attribute__((noinline)) int frame_grows(int n)
{
	char *room = alloca(n);
	memset(room, n, n);
	return frame_saves(room[0], room[n - 1], n, 2);
}

int main(int argc, char **argv)
{
	printf("%d %s\n", frame_grows(argc * 100) + frame_leaf(argc), argv[0]);
	return 0;
}
