// C++ names in stacks: templates, namespaces, operators, blanks.
#include <map>
#include <string>
#include <vector>

namespace some { namespace where {
template <class T> struct Box {
	std::vector<T> v;
	__attribute__((noinline)) bool operator()(const T &x) { v.push_back(x); if (v.size() > 500) v.clear(); return v.empty(); }
};
}}

std::map<std::string, long> counts;

__attribute__((noinline)) long work(const std::string &s, long n)
{
	counts[s + std::to_string(n % 100)] += n;
	return counts.size();
}

int main()
{
	some::where::Box<std::pair<int, long>> box;
	long sum = 0;
	for (long i = 0; i < 15000000; i++) {
		sum += box({int(i), i});
		sum += work("key", i);
	}
	return sum == 0;
}
