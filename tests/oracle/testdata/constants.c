// Opens 60 files that do not exist. Their names are constants, each in a page that was not
// accessed before the C library passes its address to the kernel.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>

#define NAME(n) {"/no/such/constant/" n}
#define TEN(n) NAME(n "0"), NAME(n "1"), NAME(n "2"), NAME(n "3"), NAME(n "4"), \
	NAME(n "5"), NAME(n "6"), NAME(n "7"), NAME(n "8"), NAME(n "9")

static const struct {
	_Alignas(4096) char text[32];
} names[] = {TEN("1"), TEN("2"), TEN("3"), TEN("4"), TEN("5"), TEN("6")};

int main(void)
{
	int opened = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *name = names[i].text;
		opened += (i % 2 ? open64(name, O_RDONLY) : openat64(AT_FDCWD, name, O_RDONLY)) >= 0;
	}
	return opened;
}
