/* Functions with names in the two mangling schemes of Rust's compiler,
 * with generics, closures, traits, escapes and hashes. */
#define KEEP __attribute__((noinline, noclone))
#define NAMED(f, name) KEEP long f(long n) __asm__(name)

volatile unsigned long sink;

NAMED(method, "_ZN3std2io5stdio6Stdout4lock17h0123456789abcdefE");
NAMED(closure, "_ZN4shop4main28_$u7b$$u7b$closure$u7d$$u7d$17hfedcba9876543210E");
NAMED(trait, "_ZN71_$LT$shop..Cart$LT$T$GT$$u20$as$u20$core..fmt..Display$GT$3fmt17h00112233445566aaE");
NAMED(vtable, "_ZN4core3ptr49drop_in_place$LT$alloc..string..String$GT$17h8899aabbccddeeffE");
NAMED(plain, "_RNvCs15kBYyAo9fc_4shop5price");
NAMED(inner, "_RNCNvCs15kBYyAo9fc_4shop4main0");
NAMED(impl, "_RNvMNtCs15kBYyAo9fc_4shop4cartNtB2_4Cart3add");
NAMED(generic, "_RINvNtCs15kBYyAo9fc_4shop4cart5totalmEB4_");

long plain(long n) { for (long i = 0; i < n; i++) sink += i; return sink; }
long inner(long n) { return plain(n) + 1; }
long impl(long n) { return inner(n) + plain(n); }
long generic(long n) { return impl(n) + 2; }
long vtable(long n) { return generic(n) + plain(n); }
long trait(long n) { return vtable(n) + 3; }
long closure(long n) { return trait(n) + plain(n); }
long method(long n) { return closure(n) + 4; }

int main(void)
{
	for (int i = 0; i < 3000; i++)
		sink += method(10000);
	return 0;
}
