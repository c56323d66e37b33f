"""Does the probe, made for heads on frozen features, predict gains of networks from scratch?

    python -m benchmarks.probe.scratch ROWS.jsonl [--cache DIR]

The runs of `results/paper-small` (a Wide-ResNet from random weights; 60 labels, eleven pools, three
tasks and seeds): the same images are probed, and the gain is the accuracy of a run minus that of
the supervised run with as many updates and the same seed. Needs the image packs (MIXMOOD_DATA).
"""

import argparse
import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.probe.cases import append, keys_in
from mixmood.core.seeds import rng_for
from mixmood.evidence.gain import labelled_folds, pool_effect
from mixmood.evidence.share import useful_share
from mixmood.testbed.cells import Run
from mixmood.testbed.config import load_config
from mixmood.testbed.measured import features_of
from mixmood.testbed.run import drawn, job_for

RECORDS = Path("results/paper-small/records.csv.gz")
BASE, WITH_POOL = "supervised-updates", "mixmatch"
ALGORITHM = "mixmatch"
N_IMAGES = 400
"""Pool images that are probed: `rank` takes 1000, but 99 pools have to be embedded."""
ACCURACY = "accuracy_median"
"""The median of the last epochs: the best one would be chosen on the test images."""


def records() -> list[dict[str, str]]:
    """The runs as they were recorded."""
    with gzip.open(RECORDS, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rows(done: set[str], cache: str | None) -> Iterator[dict]:
    """The pools that are not done: what was measured, and the true gain."""
    config, found = load_config("paper-small"), records()
    bases = {(r["task"], r["seed"]): r for r in found if r["algorithm"] == BASE}
    for record in found:
        if record["algorithm"] != WITH_POOL or record["key"] in done:
            continue
        source, percent = record["ood_source"] or "none", float(record["ood_percent"] or 0)
        run = Run(
            record["task"], source, percent, int(record["n_labelled"]), WITH_POOL,
            record["contamination"], seed=int(record["seed"]),
        )  # fmt: skip
        job = job_for(config, run, cache=cache)
        if job.key != record["key"]:
            raise SystemExit(f"{record['key']} was run with other images or settings.")
        gain = float(record[ACCURACY]) - float(bases[record["task"], record["seed"]][ACCURACY])
        distances = {
            name: float(record[f"{name}_distance"]) for name in ("cosine", "js", "l1", "l2")
        }
        measured = measured_of(job)
        row = {"key": job.key, **vars(run), **measured, "distances": distances}
        row[ALGORITHM]["gains"] = [100 * gain]
        yield row


def measured_of(job) -> dict:
    """Probe and useful share of the images of a run."""
    split, section, seed = drawn(job), job.config.frozen, job.run.seed
    place = (section.backbone, section.resolution)
    features = features_of(job, split.labelled, *place)
    pool = features_of(job, split.unlabelled[:N_IMAGES], *place)
    codes = np.asarray(split.labels)
    n_classes = len(split.class_names)
    folds = labelled_folds(features, codes, n_classes, rng_for(seed, "folds"))
    effect = pool_effect(folds, pool, ALGORITHM, rng_for(seed, "probe", job.key))
    share = useful_share(features, pool, rng_for(seed, "share", job.key), labels=codes)
    return {
        "n_classes": n_classes,
        "cv": 100 * folds.accuracy,
        "is_learnable": True,
        "share": share.share,
        "share_low": share.interval[0],
        "share_high": share.interval[1],
        ALGORITHM: vars(effect),
    }


def main() -> None:
    """Probe the runs that the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--cache", default=None)
    given = parser.parse_args()
    append(given.rows, rows(keys_in(given.rows), given.cache))


if __name__ == "__main__":
    main()
