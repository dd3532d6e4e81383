// The outer library calls back from here: through closures, and from algorithms of the library.
#include <algorithm>
#include <functional>
#include <vector>

extern "C" long spin(long n)
{
	volatile long s = 0;
	for (long i = 0; i < n; i++)
		s = s + i;
	return s;
}

extern "C" __attribute__((noinline)) long inner(long n, long (*back)(long))
{
	std::function<long(long)> f = [&](long k) { return back(k) + spin(50); };
	std::vector<long> v(32);
	for (size_t i = 0; i < v.size(); i++)
		v[i] = (i * 37) % 32;
	std::sort(v.begin(), v.end(), [](long a, long b) { spin(5); return a < b; });
	return f(n) + v[n & 31];
}
