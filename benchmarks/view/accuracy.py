"""Accuracy by view on tasks that had no part in the rule of the choice.

    python -m benchmarks.view.accuracy FEATURES results/view/report.jsonl [--seeds 0 1 2 3 4]

FEATURES is the folder of `benchmarks.heads.features`. Each line is one task, seed and number of
labels: the accuracy of the supervised head on test images in every view, the view that the labelled
images choose, and its nested accuracy with its interval. Lines that are there are not computed
again. `python -m benchmarks.view.summary` makes the tables.
"""

import json
from itertools import product
from pathlib import Path

from benchmarks.heads.tasks import DEVELOPMENT, REPORT, Family, draw_rows, pack_of
from benchmarks.study import study_parser
from mixmood.evidence.accuracy import held_out_accuracy
from mixmood.evidence.view import ViewEvidence
from mixmood.features.backbones.view import DEPTHS, RESOLUTIONS, BackboneView, View
from mixmood.heads.problem import head_problem

VIEWS = [View(side, depth) for side in RESOLUTIONS for depth in DEPTHS]
LABELS = (20, 60, 150)


def row_of(folder: Path, family: Family, n_labelled: int, seed: int) -> dict:
    """All views of one task."""
    pack = pack_of(folder, family.pack)
    task = draw_rows(pack.labels, family, n_labelled, seed, n_pool=0)
    n_classes = len(task.classes)
    features = {BackboneView("", view): pack.at(view, task.labelled) for view in VIEWS}
    contents = [int(row).to_bytes(8, "big") for row in task.labelled]
    evidence = ViewEvidence(features, task.codes, contents)
    accuracies = {}
    for one, rows in features.items():
        head = head_problem(rows, task.codes, n_classes).labelled.supervised[0]
        right = head.predict(pack.at(one.view, task.test)) == task.test_codes
        accuracies[str(one.view)] = 100 * float(right.mean())
    chosen = evidence.choice.chosen
    nested = held_out_accuracy(evidence.nested_logits(evidence.held_out[chosen]), task.codes, None)
    return {
        "task": family.name, "seed": seed, "n_labelled": n_labelled, "n_test": len(task.test),
        "accuracies": accuracies, "chosen": str(chosen.view), "nested": 100 * nested.value,
        "interval": [100 * nested.low, 100 * nested.high],
    }  # fmt: skip


def main() -> None:
    """Compute the rows that the file lacks."""
    parser = study_parser(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--part", choices=["development", "report"], default="report")
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    given.rows.touch()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    done = {(row["task"], row["seed"], row["n_labelled"]) for row in rows}
    families = DEVELOPMENT if given.part == "development" else REPORT
    for seed, n_labelled, family in product(given.seeds, LABELS, families.values()):
        if (family.name, seed, n_labelled) not in done:
            row = row_of(given.features, family, n_labelled, seed)
            with given.rows.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
