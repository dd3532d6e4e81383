// A program for tests: templates, virtual functions, inlined functions, and
// exceptions that are thrown through a recursion.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace shop {
struct Item {
	std::string name;
	double price;
};

template <class T> struct Box {
	std::vector<T> items;
	__attribute__((noinline)) void put(const T &t) { items.push_back(t); }
	__attribute__((noinline)) double sum() const
	{
		double s = 0;
		for (auto &x : items) {
			s += x.price;
			for (char c : x.name)
				s += c;
		}
		return s;
	}
};

struct Visitor {
	virtual ~Visitor() {}
	virtual double visit(const Box<Item> &b) = 0;
};

struct Summer : Visitor {
	__attribute__((noinline)) double visit(const Box<Item> &b) override { return b.sum(); }
};
} // namespace shop

volatile double sink;

__attribute__((noinline)) void thrower(int n)
{
	if (n == 0)
		throw 3;
	thrower(n - 1);
	sink += n;
}

int main(int argc, char **argv)
{
	clock_t end = clock() + (argc > 1 ? atof(argv[1]) : 0.5) * CLOCKS_PER_SEC;
	shop::Summer summer;
	shop::Visitor *visitor = &summer;
	while (clock() < end) {
		shop::Box<shop::Item> box;
		for (int i = 0; i < 200; i++)
			box.put({"item" + std::to_string(i), i * 1.5});
		sink += visitor->visit(box);
		std::sort(box.items.begin(), box.items.end(),
			  [](const shop::Item &a, const shop::Item &b) { return a.name < b.name; });
		std::map<std::string, int> count;
		for (auto &x : box.items)
			count[x.name]++;
		for (int i = 0; i < 20; i++)
			try {
				thrower(10);
			} catch (int) {
			}
	}
	printf("%g\n", sink);
}
