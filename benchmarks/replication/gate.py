"""Is it worth going on? Exit code 1 if B = A within one point in all noise cells of a store.

python -m benchmarks.replication.gate STORE
"""

import sys

from mixmood.testbed.analysis.tables import arm_rows
from mixmood.testbed.store import Store

NOISES = ("gaussian", "salt_and_pepper")


def main() -> int:
    """Print B - A of the noise cells at the best epoch."""
    rows = [
        row
        for row in arm_rows(Store(sys.argv[1]).records())
        if (row.arm, row.epoch, row.percent) == ("B", "best", 100.0) and row.source in NOISES
    ]
    for row in rows:
        print(f"{row.task} {row.source}: B - A = {row.difference_points:+.1f} points")
    return int(all(abs(row.difference_points) <= 1 for row in rows))


if __name__ == "__main__":
    sys.exit(main())
