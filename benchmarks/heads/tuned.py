"""The fine-tuned backbone on report tasks: `python -m benchmarks.heads.tuned PACKS OUT`.

Labelled images, pool and test images are those of `benchmarks.heads.evidence`, so that the head's
accuracy for the same task and seed stands beside it. Everything else is what `mixmood train
--model efficientnet-lite0` does by default. Every run is one file, written when it is whole.
"""

import argparse
import csv
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from benchmarks.heads.tasks import DEVELOPMENT, REPORT, draw_rows
from mixmood.ssl.loop.train import train

TASKS = ("mnist 5-9", "cifar10 5-9", "fashion_mnist 5-9")
ALL = {**REPORT, **DEVELOPMENT}
HEADER = ("task", "n_labelled", "seed", "algorithm", "accuracy", "cpu_s", "elapsed_s", "threads")


def resized(images: np.ndarray, side: int) -> np.ndarray:
    """RGB images at the size that the backbone takes, as `mixmood train` makes them."""
    from mixmood.data.arrays.array_pools import ImageArray
    from mixmood.ssl.input.pictures import pictures_at

    read = pictures_at(ImageArray(images, "pack"), list(range(len(images))), (side, side))
    return np.stack([np.asarray(picture) for picture, _ in read])


def run(packs: Path, name: str, seed: int, options: argparse.Namespace) -> list[object]:
    """Train and test once."""
    family = ALL[name]
    with np.load(packs / f"{family.pack}.npz") as content:
        images, labels = content["images"], content["labels"]
    rows = draw_rows(labels, family, options.labels, seed)
    labelled, test, pool = (
        resized(images[some], 96)
        for some in (rows.labelled, rows.test[: options.n_test], rows.pool)
    )
    start, cpu = perf_counter(), process_time()
    trained = train(
        labelled,
        rows.codes,
        pool,
        test,
        rows.test_codes[: options.n_test],
        model="efficientnet-lite0",
        algorithm=options.algorithm,
        epochs=1,
        threads=options.threads,
        seed=seed,
    )
    spent = [f"{process_time() - cpu:.1f}", f"{perf_counter() - start:.1f}", options.threads]
    right = f"{trained.record.accuracy_last:.4f}"
    return [name, options.labels, seed, options.algorithm, right, *spent]


def main() -> None:
    """Train what is missing, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--labels", type=int, default=60)
    parser.add_argument("--n-test", type=int, default=1500)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 2], metavar=("FIRST", "END"))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for seed in range(*options.seeds):
        for name in options.tasks:
            path = options.out / f"{name}-{options.algorithm}-{seed}.csv".replace(" ", "_")
            if path.exists():
                continue
            row = run(options.packs, name, seed, options)
            unfinished = path.with_suffix(".part")
            with unfinished.open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([HEADER, row])
            unfinished.replace(path)
            print(*row, flush=True)


if __name__ == "__main__":
    main()
