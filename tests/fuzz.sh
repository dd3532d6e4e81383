#!/bin/bash
# fuzz.sh TIME [WORD] runs each fuzz target of the tree for a time such as 10m, of those in whose path the word stands between
# slashes, or whose name has it. What fails is a crash, an answer that the target calls wrong, an input that takes all memory, or
# one that does not end. Go writes the input to testdata/fuzz beside the target, where it stays as a test once it is mended.
set -u
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME [WORD]} word=${2:-}
go=${GO:-go}
seconds=$(echo "$time" | sed -E 's/([0-9]+)h/\1*3600+/; s/([0-9]+)m/\1*60+/; s/([0-9]+)s/\1+/; s/$/0/')
# A target that has not ended by then hangs: it is compiled first, the seeds run, and the least input is looked for at last.
most=$(((seconds) * 2 + 900))
# Address space for each process, in KiB: an input that makes a parser ask for more ends it.
space=$((16 << 20))

targets=0 failed=()
while IFS=: read -r file name; do
	[[ -z $word || $file == */"$word"/* || $name == *"$word"* ]] || continue
	targets=$((targets + 1))
	echo "== $name of ${file%/*} ($(date +%T))"
	log=$(mktemp)
	(
		ulimit -v "$space"
		# An input that reaches something new is made smaller for a minute, by default, in which nothing else is tried.
		exec timeout --kill-after=10 "$most" "$go" test -vet=off "${file%/*}" -run '^$' -fuzz "^$name\$" -fuzztime "$time" \
			-fuzzminimizetime 20x
	) >"$log" 2>&1
	status=$?
	# On a machine that is busy Go counts it as a failure that its own time is over in the midst of an input.
	if [ "$status" = 1 ] && grep -qE '^ +context deadline exceeded$' "$log" && ! grep -q 'Failing input\|panic:' "$log"; then
		status=0
	fi
	if [ "$status" = 0 ]; then
		grep -a '^fuzz: elapsed' "$log" | tail -n 1
	else
		failed+=("$name of ${file%/*} (status $status)")
		grep -av '^fuzz: elapsed' "$log" | cut -c -500 | head -n 60
	fi
	rm -f "$log"
done < <(grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]*' . | sed -E 's/:[0-9]+:func /:/' | sort)

echo "$targets targets, ${#failed[@]} failed"
[ "${#failed[@]}" = 0 ] || printf '  %s\n' "${failed[@]}"
[ "${#failed[@]}" = 0 ] && [ "$targets" -gt 0 ]
