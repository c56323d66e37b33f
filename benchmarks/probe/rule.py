"""From which chance to help and which gain on a pool is used, chosen on development tasks.

    python -m benchmarks.probe.rule [ROWS.jsonl]       prints what HELPS and LEAST_GAIN would do

Gains are those of a map that has not seen the pack of the task. All other conditions of `use` are
as in `evidence/advice.py`. Tasks made of overlaid images are counted apart: they are below its
LEAST_RIGHT. A quarter of a point is the least gain that is worth a pool; HELPS is the smallest
chance above a half with which at most 3 % of the used pools harm by more than half a point.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.probe.cases import read_rows
from benchmarks.probe.fit import ROWS, columns, left_out
from benchmarks.probe.judge import HARM
from mixmood.core.options import PROBE_ALGORITHMS
from mixmood.evidence.advice import FOREIGN, LEAST_GAIN, LEAST_RIGHT
from mixmood.evidence.gain import Gain

HELPS = (0.55, 0.6, 0.65, 0.7)
LEAST_GAINS = (0.0, 0.25, 0.5, 0.75)
MOST_HARM = 0.03
GOOD = 1.0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path, nargs="?", default=ROWS)
    algorithm = PROBE_ALGORITHMS[0]
    rows = [row for row in read_rows(parser.parse_args().rows) if algorithm in row]
    table = columns(rows, algorithm)
    unseen, truth = left_out(table), table["truth"]
    gains = [Gain(*pair) for pair in zip(unseen.mean, unseen.error, strict=True)]
    chances = np.array([gain.p_helps for gain in gains])
    is_overlaid = np.array(["overlaid" in row["task"] for row in rows])
    may_be = np.array(
        [row["is_learnable"] and row["cv"] >= LEAST_RIGHT and row["share_high"] > FOREIGN
         for row in rows]
    )  # fmt: skip
    print("| helps | gain | used | harm | gain a point and are used | points in all |")
    print("|---|---|---|---|---|---|")
    allowed = []
    for helps, least in product(HELPS, LEAST_GAINS):
        used = may_be & ~is_overlaid & (chances >= helps) & (unseen.mean >= least)
        n_harm, good = int((truth[used] < HARM).sum()), (truth >= GOOD) & ~is_overlaid
        total = truth[used].sum()
        if least == LEAST_GAIN and n_harm <= MOST_HARM * used.sum():
            allowed.append(helps)
        print(
            f"| {helps} | {least} | {used.sum()} | {n_harm} ({n_harm / max(used.sum(), 1):.1%}) | "
            f"{(used & good).sum()} of {good.sum()} | {total:.0f} |"
        )
    print(f"HELPS: {min(allowed, default='none')}")
    below = is_overlaid & (chances >= HELPS[0]) & (unseen.mean >= LEAST_GAIN)
    print(f"overlaid: {below.sum()} would be used, {(truth[below] < HARM).sum()} harm")


if __name__ == "__main__":
    main()
