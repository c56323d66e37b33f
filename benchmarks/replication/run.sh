#!/bin/sh
# All runs of docs/replication.md, one after the other; it can be stopped and started again.
#
#   sh benchmarks/replication/run.sh STORES [JOBS]
#
# Runs that are in results/replication are not made again, and new ones are added to it: it goes on
# where it ended, on this machine or another. The gate comes first: if the pool's statistics change no
# noise cell by more than a point, it ends.
set -eu
stores=$1
jobs=${2:-1}
here=$(dirname "$0")
python=${PYTHON:-python}
run() {
    "$python" -m mixmood testbed run "$1" --store "$stores/$2" --jobs "$jobs" $3 || true
    "$python" -m benchmarks.replication.records publish "$stores" "$2"
}
"$python" -m benchmarks.replication.records restore "$stores"
run paper-code-small paper-code-small \
    "--seeds 1 --only source=none,source=gaussian,source=salt_and_pepper,percent=0,percent=100"
"$python" -m benchmarks.replication.gate "$stores/paper-code-small"
run paper-code-small paper-code-small ""
for name in loss labels-150 full-size text-noise all-settings pool-size algorithms updates-x2 updates-x4; do
    run "$here/$name.toml" "$name" ""
done
