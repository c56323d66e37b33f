"""Guarantees of `predict` on test images: `python -m benchmarks.heads.promises FEATURES OUT`.

Sixty labels of each report task, a clean pool, pseudo-labels. The share of new images that keep
their class (guaranteed: 95 %), the share of foreign images that are marked as none of these
(nothing is guaranteed), and calibration: the mean confidence beside the accuracy, and the expected
calibration error over ten equal bins, with the temperature and without.
"""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.heads.tasks import REPORT, Family, draw
from benchmarks.study import study_parser
from mixmood.core.options import DEFAULT_PROBE
from mixmood.core.seeds import rng_for
from mixmood.evidence.labelled import judged_part
from mixmood.evidence.view import train_head
from mixmood.ssl.head_model import fit_typicality

N_LABELLED = 60
HEADER = ("task", "seed", "what", "value")


def calibration_error(p: np.ndarray, codes: np.ndarray) -> float:
    """Mean distance of confidence and accuracy over ten bins, weighted by their images."""
    sure, right = p.max(axis=1), p.argmax(axis=1) == codes
    bins = np.minimum((10 * sure).astype(int), 9)
    gaps = [abs((sure - right)[bins == b].sum()) for b in np.unique(bins)]
    return float(np.sum(gaps) / len(codes))


def rows_of(folder: Path, family: Family, seed: int) -> list[tuple[object, ...]]:
    """The numbers of one task and seed."""
    task = draw(folder, family, N_LABELLED, seed)
    rng = rng_for(seed, "train")
    useful = judged_part(task.features, task.codes, task.clean, seed).useful
    trained = train_head(
        task.features, task.codes, family.n_classes, task.clean, rng,
        algorithm=DEFAULT_PROBE, useful=useful,
    )  # fmt: skip
    p = trained.head.predict_proba(task.test_features)
    plain = replace(trained.head, temperature=1.0).predict_proba(task.test_features)
    typical = fit_typicality(task.features, rng_for(seed, "typicality"))
    found = {
        "kept": float((typical(task.test_features) >= typical.threshold).mean()),
        "accuracy": float((p.argmax(axis=1) == task.test_codes).mean()),
        "confidence": float(p.max(axis=1).mean()),
        "calibration error": calibration_error(p, task.test_codes),
        "calibration error without temperature": calibration_error(plain, task.test_codes),
    }
    for source, features in task.foreign.items():
        found[f"refused of {source}"] = float((typical(features) < typical.threshold).mean())
    return [(family.name, seed, what, f"{value:.4f}") for what, value in found.items()]


def main() -> None:
    """Write all rows and print the means."""
    parser = study_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    rows = [
        row
        for seed in range(options.seeds)
        for family in REPORT.values()
        for row in rows_of(options.features, family, seed)
    ]
    with options.rows.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    for what in dict.fromkeys(row[2] for row in rows):
        values = [float(row[3]) for row in rows if row[2] == what]
        print(f"{what:40} {np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
