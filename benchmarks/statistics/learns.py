"""Does semi-supervised training learn from its pool? Paired over seeds, resumable.

    python -m benchmarks.statistics.learns --task mnist --seeds 5 --store learns/

For each seed: five classes drawn at random, 60 labelled images, a validation and a test set
disjoint from them, and pools of 3000 images: `in` (the same five classes), `other-half` (the
other five) and `gaussian` noise. Each run is written to its own file, so that a stopped script
continues where it stopped. The epoch is selected on the validation images, never on the test
images. Printed: mean test accuracy of each arm and the paired difference to supervised training
with the same number of updates, with its 95 % interval by Student's t.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from mixmood.core.files import write_atomic
from mixmood.core.seeds import rng_for
from mixmood.data.readers.noise import NoiseSource
from mixmood.ssl.record import TrainingRecord

ROOT = Path(os.environ.get("MIXMOOD_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
N_LABELLED, N_VALIDATION, N_TEST, N_POOL = 60, 100, 1500, 3000
ARMS = {
    "supervised": ("supervised", "in"),
    "mixmatch/in": ("mixmatch", "in"),
    "mixmatch/other-half": ("mixmatch", "other-half"),
    "mixmatch/gaussian": ("mixmatch", "gaussian"),
}


def images_of(task, size):
    """All images of a pack, at a size that divides theirs, and their labels."""
    with np.load(ROOT / f"{task}.npz") as pack:
        images, labels = pack["images"], pack["labels"]
    factor = images.shape[1] // size
    if images.shape[1] % size:
        raise SystemExit(f"{size} does not divide {images.shape[1]}")
    blocks = images.reshape(len(images), size, factor, size, factor, -1)
    return blocks.mean((2, 4)).round().astype(np.uint8), labels


def split(images, labels, seed):
    """Disjoint labelled, validation, test and pool images of five classes, and the other pools."""
    rng = rng_for(seed, "learns")
    classes = rng.permutation(10)
    code = np.full(10, -1)
    code[classes[:5]] = np.arange(5)
    inside = rng.permutation(np.flatnonzero(code[labels] >= 0))
    outside = rng.permutation(np.flatnonzero(code[labels] < 0))
    parts, start = {}, 0
    # The labelled images are balanced, as in the paper; the others are drawn at random.
    balanced = np.concatenate(
        [inside[code[labels[inside]] == c][: N_LABELLED // 5] for c in range(5)]
    )
    rest = inside[~np.isin(inside, balanced)]
    for name, count in (("validation", N_VALIDATION), ("test", N_TEST), ("in", N_POOL)):
        parts[name] = rest[start : start + count]
        start += count
    channels = images.shape[3]
    noise = NoiseSource("gaussian", "noise", size=images.shape[1], channels=channels, seed=seed)
    pools = {
        "in": images[parts["in"]],
        "other-half": images[outside[:N_POOL]],
        "gaussian": np.stack([noise.fetch(i) for i in range(N_POOL)]),
    }
    pick = {name: (images[rows], code[labels[rows]]) for name, rows in parts.items()}
    return (images[balanced], code[labels[balanced]]), pick["validation"], pick["test"], pools


def settings_of(algorithm, options):
    """The paper's settings, the ramp at its share of the updates: 3000 of 9400."""
    if algorithm != "mixmatch":
        return {}
    return {"gamma": options["gamma"], "ramp_updates": round(options["updates"] * 3000 / 9400)}


def run(arm, seed, options, threads):
    """The record of one arm and seed."""
    import torch

    from mixmood.ssl.train import train

    torch.set_num_threads(threads)
    algorithm, pool = ARMS[arm]
    labelled, validation, test, pools = split(*images_of(options["task"], options["size"]), seed)
    return train(
        *labelled,
        pools[pool],
        *test,
        validation=validation,
        algorithm=algorithm,
        settings=settings_of(algorithm, options),
        model=options["model"],
        epochs=20,
        updates=options["updates"],
        learning_rate=options["rate"],
        augment=options["augment"],
        seed=seed,
    ).record


def report(records, seeds):
    """One line for each arm, from the records alone."""
    from scipy import stats

    n_seeds = len(seeds)
    for reading in ("accuracy_last", "accuracy_selected", "accuracy_median", "accuracy_best"):
        print(f"\n{reading}")
        base = np.array([getattr(records["supervised", s], reading) for s in seeds])
        for arm in sorted({arm for arm, _ in records}):
            ours = np.array([getattr(records[arm, s], reading) for s in seeds])
            difference = ours - base
            half = 0.0
            if n_seeds > 1:
                half = stats.t.ppf(0.975, n_seeds - 1) * stats.sem(difference)
            print(
                f"  {arm:22s} mean {ours.mean():.4f} (sd {ours.std(ddof=min(1, n_seeds - 1)):.4f})"
                f"  minus supervised {difference.mean():+.4f} +- {half:.4f}"
            )


def main():
    """Run what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="mnist", choices=["mnist", "fashion_mnist", "cifar10"])
    parser.add_argument("--size", type=int, default=14)
    parser.add_argument("--model", default="wrn-thin")
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=25.0)
    parser.add_argument("--augment", default="flips")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--store", type=Path, required=True)
    options = vars(parser.parse_args())
    keys = ("task", "size", "model", "updates", "rate", "gamma", "augment")
    label = "_".join(str(options[key]) for key in keys)
    options["store"].mkdir(parents=True, exist_ok=True)
    records = {}
    seeds = range(options["first_seed"], options["first_seed"] + options["seeds"])
    for seed in seeds:
        for arm in options["arms"]:
            name = f"{label}_{arm.replace('/', '-')}_{seed}.json".replace(":", "-")
            path = options["store"] / name
            if not path.exists():
                start = time.perf_counter()
                record = run(arm, seed, options, options["threads"])
                write_atomic(path, record.to_json())
                spent = time.perf_counter() - start
                print(
                    f"{arm} seed {seed}: last {record.accuracy_last:.4f} in {spent:.0f} s, "
                    f"{1000 * spent / options['updates']:.1f} ms an update",
                    flush=True,
                )
            records[arm, seed] = TrainingRecord.from_json(path.read_text())
    report(records, seeds)


if __name__ == "__main__":
    main()
