#!/bin/sh
# make-kvmmmu.sh DIR: makes kvmmmu.data anew in DIR, with perf 6.1, as root on a
# host with /dev/kvm, in namespaces of its own, as make.sh:
#
#   CGO_ENABLED=0 go build -o /tmp/minikvm ./tests/vm/minikvm
#   unshare --uts --pid --fork --mount-proc sh -c 'hostname testhost; MINIKVM=/tmp/minikvm ./make-kvmmmu.sh DIR'
set -e
cd "$1"
PATH=/usr/bin:/bin
export PATH

perf record -q -z -o kvmmmu.data -e kvmmmu:kvm_mmu_get_page,kvmmmu:kvm_mmu_prepare_zap_page,kvmmmu:kvm_mmu_set_spte,kvmmmu:mark_mmio_spte -- \
	"$MINIKVM" -mix 20

release=$(uname -r)
neutral=$(printf '%.*s' ${#release} 6.18.0-testing-kernel-of-some-length)
sed -i "s/$release/$neutral/g" kvmmmu.data
chmod 644 kvmmmu.data
