// A program with the frames that C++ has and C has not, for comparison with a
// debugger: it does the same in every run.
#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define KEEP __attribute__((noinline, noclone))

volatile unsigned long sink;

KEEP void leaf(long n) { sink += n; }

struct guard {
	long n;
	KEEP explicit guard(long n) : n(n) { leaf(n); }
	KEEP ~guard() { leaf(-n); }
};

struct shape {
	virtual ~shape() {}
	virtual long area(long n) = 0;
};
struct square : shape {
	KEEP long area(long n) override { leaf(n); return n * n; }
};
struct ring : shape {
	KEEP long area(long n) override { guard g(n); return 3 * n; }
};

KEEP void thrower(int n)
{
	guard g(n);
	if (n % 2)
		throw std::runtime_error("odd");
	leaf(n);
}

KEEP void through(int n)
{
	guard g(n + 10);
	thrower(n);
	leaf(n + 20);
}

KEEP int catcher(int n)
{
	try {
		through(n);
	} catch (const std::exception &e) {
		leaf(e.what()[0]);
		return -1;
	}
	return n;
}

KEEP int again(int n)
{
	try {
		try {
			thrower(n);
		} catch (...) {
			leaf(1);
			throw;
		}
	} catch (std::runtime_error &) {
		leaf(2);
	}
	return n;
}

KEEP long virtuals(long n)
{
	square s;
	ring r;
	shape *all[] = {&s, &r};
	long sum = 0;
	for (shape *x : all)
		sum += x->area(n);
	return sum;
}

template <typename F> KEEP long apply(F f, long n) { return f(n) + f(n + 1); }

KEEP long closures(long n)
{
	std::vector<long> v{3, 1, 2};
	std::sort(v.begin(), v.end(), [](long a, long b) { leaf(a - b); return a < b; });
	std::function<long(long)> twice = [&](long x) { leaf(x); return x + v[0]; };
	return apply(twice, n) + apply([n](long x) { leaf(x); return x * n; }, n);
}

KEEP void containers(int n)
{
	std::map<std::string, int> m;
	for (int i = 0; i < n; i++)
		m[std::string(20, 'a' + i)] = i;
	for (auto &e : m)
		leaf(e.second);
}

int main()
{
	for (int i = 1; i < 3; i++) {
		sink += catcher(i);
		sink += again(i);
		sink += virtuals(i);
		sink += closures(i);
		containers(i);
	}
}
