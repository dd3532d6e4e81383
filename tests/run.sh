#!/bin/bash
# run.sh PACKAGE... runs the tests of all packages; those that are named run one after another, since what one
# traces another would see or be slowed down by.
#
# The programs that most of them need are linked once. Guests, which see nothing of this machine, run beside those
# that are named, which leave half of the CPUs; what guests say comes at the end.
set -euo pipefail
GO=${GO:-go}
dir=$(mktemp -d)
guests=
stop() {
	# Its own group: the go command, the tests and qemu.
	if [ -n "$guests" ]; then kill -- "-$guests" 2>/dev/null || true; fi
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' INT TERM

alone=("${@/#/ppscript/}")
mapfile -t others < <("$GO" list ./... | grep -vxF -e ppscript/tests/vm -f <(printf '%s\n' "${alone[@]}"))

"$GO" build -o "$dir/" ./cmd/ppscript ./tests/testkit/load ./tests/soak ./tests/vm/minikvm
export PPSCRIPT_BUILT=$dir

status=0
"$GO" test -p 2 -timeout 30m "${others[@]}" || status=1

set -m
nice -n 5 "$GO" test -timeout 50m ./tests/vm >"$dir/guests" 2>&1 &
guests=$!
set +m

"$GO" test -p 1 -timeout 30m "${alone[@]}" || status=1
wait "$guests" || status=1
guests=
cat "$dir/guests"
exit "$status"
