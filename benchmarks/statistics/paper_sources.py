"""`rank` on the paper's three tasks, each with its sources at 100 %.

    python -m benchmarks.statistics.paper_sources [SEED]

150 labelled images of five random classes; pools of 3000: the same classes, the other half, the
paper's other sources, and noise in the size of the labelled images. Needs the image packs
(MIXMOOD_TEST_DATA). Prints the table of each ranking, and the seconds without and with a cache.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import mixmood

PACKS = Path(os.environ.get("MIXMOOD_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
SOURCES = {
    "mnist": ("svhn", "tiny_imagenet"),
    "cifar10": ("tiny_imagenet", "svhn"),
    "fashion_mnist": ("fashion_product", "tiny_imagenet"),
}
N_LABELLED, N_POOL = 150, 3000


def pack(name):
    """Images and labels of a pack."""
    with np.load(PACKS / f"{name}.npz") as arrays:
        return arrays["images"], arrays["labels"]


def sets(task, seed):
    """The labelled images and the pools of a task."""
    images, labels = pack(task)
    rng = np.random.default_rng(seed)
    is_known = np.isin(labels, rng.permutation(10)[:5])
    known = rng.permutation(np.flatnonzero(is_known))
    others = rng.permutation(np.flatnonzero(~is_known))
    pools = {
        "same classes": images[known[N_LABELLED : N_LABELLED + N_POOL]],
        "other half": images[others[:N_POOL]],
    }
    for source in SOURCES[task]:
        found, _ = pack(source)
        pools[source] = found[rng.permutation(len(found))[:N_POOL]]
    for kind in ("gaussian", "salt-and-pepper"):
        pools[kind] = f"noise:{kind}?count={N_POOL}"
    return images[known[:N_LABELLED]], pools


def main():
    """Rank the pools of every task, twice."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    for task in SOURCES:
        labelled, pools = sets(task, seed)
        with tempfile.TemporaryDirectory() as cache:
            seconds = []
            for _ in range(2):
                start = time.perf_counter()
                report = mixmood.rank(labelled, pools, seed=seed, cache=cache)
                seconds.append(time.perf_counter() - start)
        print(f"{task}: {seconds[0]:.1f} s, from the cache {seconds[1]:.1f} s")
        print(report.to_text(120), flush=True)


if __name__ == "__main__":
    main()
