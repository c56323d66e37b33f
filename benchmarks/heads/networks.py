"""Networks on report tasks: `python -m benchmarks.heads.networks PACKS OUT [--model wrn-thin]`.

The backbone fine-tuned, or a network from scratch. Labelled images, pool and test images are those
of `benchmarks.heads.tasks`. Everything else is what `mixmood train --model MODEL` does by default,
but for `--updates` and `--setting`. Every run is one file, written when it is complete.
"""

import argparse
import csv
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from benchmarks.heads.tasks import DEVELOPMENT, REPORT, draw_rows
from mixmood.ssl.algorithms.registry import parsed
from mixmood.ssl.train import train

TASKS = ("mnist 5-9", "cifar10 5-9", "fashion_mnist 5-9")
ALL = {**REPORT, **DEVELOPMENT}
TUNED = "efficientnet-lite0"
PLACE = ("task", "n_labelled", "seed", "model", "algorithm", "settings", "updates")
HEADER = (*PLACE, "accuracy", "cpu_s", "elapsed_s", "threads")
SIDES = {TUNED: 96}
"""Pixels a side; for networks from scratch the size that `mixmood train` takes for small images."""
SCRATCH_SIDE = 32


def resized(images: np.ndarray, side: int) -> np.ndarray:
    """RGB images at the size that a network takes, as `mixmood train` makes them."""
    from mixmood.data.readers.array import ImageArray
    from mixmood.ssl.pools import pictures_at

    read = pictures_at(ImageArray(images, "pack"), list(range(len(images))), (side, side))
    return np.stack([np.asarray(picture) for picture in read])


def run(packs: Path, name: str, seed: int, options: argparse.Namespace) -> list[object]:
    """Train and test once."""
    family = ALL[name]
    with np.load(packs / f"{family.pack}.npz") as content:
        images, labels = content["images"], content["labels"]
    rows = draw_rows(labels, family, options.labels, seed)
    side = options.side or SIDES.get(options.model, SCRATCH_SIDE)
    labelled, test, pool = (
        resized(images[some], side)
        for some in (rows.labelled, rows.test[: options.n_test], rows.pool)
    )
    start, cpu = perf_counter(), process_time()
    trained = train(
        labelled,
        rows.codes,
        pool,
        test,
        rows.test_codes[: options.n_test],
        model=options.model,
        algorithm=options.algorithm,
        settings=parsed(options.algorithm, options.setting),
        **({"updates": options.updates} if options.updates else {}),
        # Tested once, at its end; passes of networks from scratch are part of their recipe.
        **({"epochs": 1} if options.model == TUNED else {}),
        threads=options.threads,
        seed=seed,
    )
    spent = [f"{process_time() - cpu:.1f}", f"{perf_counter() - start:.1f}", options.threads]
    right = f"{trained.record.accuracy_last:.4f}"
    what = [options.algorithm, " ".join(options.setting), options.updates or "default"]
    return [name, options.labels, seed, options.model, *what, right, *spent]


def main() -> None:
    """Train what is missing, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", nargs="+", default=TASKS)
    parser.add_argument("--model", default=TUNED)
    parser.add_argument("--algorithm", default="auto")
    parser.add_argument("--setting", nargs="*", default=[], help="such as alignment=true")
    parser.add_argument("--updates", type=int)
    parser.add_argument("--labels", type=int, default=60)
    parser.add_argument("--side", type=int, help="pixels; 96 for the fine-tuned backbone")
    parser.add_argument("--n-test", type=int, default=1500)
    parser.add_argument("--seeds", type=int, nargs=2, default=[0, 2], metavar=("FIRST", "END"))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for seed in range(*options.seeds):
        for name in options.tasks:
            words = (name, options.model, options.algorithm, *options.setting, str(seed))
            words += (f"{options.side}px",) if options.side else ()
            path = options.out / f"{'-'.join(words)}.csv".replace(" ", "_")
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
