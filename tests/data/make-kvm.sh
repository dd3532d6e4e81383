#!/bin/sh
# make-kvm.sh DIR: makes kvm.data and kvm.txt anew in DIR. It needs perf and
# what tests/vm needs, no root and no KVM: the recording is made in an emulated
# guest with Linux 6.1, whose kvm_amd runs tests/vm/minikvm.
set -e
dir=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

CGO_ENABLED=0 go build -trimpath -o "$work/minikvm" ./tests/vm/minikvm
go build -o "$work/guest" ./tests/vm/guest

# Two vCPUs, 150 rounds each, every 40th port write answered late. Only the
# recording goes to the output, everything else to files.
"$work/guest" -cpus 2 -memory 768 -module kvm_amd -file "$work/minikvm" -file "$(readlink -f "$(command -v perf)")" '
	hostname guest
	cd /tmp
	perf record -a -N -B -m 512 -e kvm:kvm_exit,kvm:kvm_entry -o kvm.data minikvm -mix -vcpus 2 -slow 40 150 >log 2>&1 || { cat log; exit 1; }
	cat kvm.data' >"$dir/kvm.data"

# What perf makes of it: the exits, and the pairs of an exit and the next entry
# of its vCPU, all together and for each vCPU. The last exit of a vCPU has no
# entry. The report goes to stderr.
{
	perf script -i "$dir/kvm.data" -F event,trace 2>/dev/null | grep -o 'kvm_entry\|reason [a-z]*' | sort | uniq -c
	for vcpu in '' --vcpu=0 --vcpu=1; do
		perf kvm -i "$dir/kvm.data" stat report --event=vmexit $vcpu 2>&1 | grep -v '^$'
	done
} >"$dir/kvm.txt"
chmod 644 "$dir/kvm.data" "$dir/kvm.txt"
