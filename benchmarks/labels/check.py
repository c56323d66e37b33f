"""Wrong labels that `mixmood check` finds, beside cleanlab on the same held-out probabilities.

    python -m benchmarks.labels.check FEATURES results/labels/check.jsonl [--seeds 0 1 ... 9]

FEATURES is the folder of `benchmarks.heads.features`. Each line is one task, seed, number of
labels, share and kind of wrong labels. Random ones are moved to any other class; confused ones to
the class that held-out heads take their class for most often. The view is chosen once for a task
and seed, by labels of which 5 % are wrong at random. Lines that are there are not computed again.

cleanlab (AGPL) is no part of this environment. The probabilities are written beside the lines, and
`--cleanlab PYTHON` names an interpreter that has it: it scores all of them in one go.
"""

import json
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.heads.tasks import DEVELOPMENT, REPORT, Family, chosen_view, draw_rows, pack_of
from benchmarks.study import study_parser
from mixmood.evidence.labels import SUSPECT, LabelEvidence, label_scores, mean_chances
from mixmood.heads.problem import head_problem

LABELS, RATES, KINDS = (60, 150), (0.02, 0.05, 0.1, 0.2), ("random", "confused")
PEER = """
import json, sys
import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
for line in sys.stdin:
    case = json.loads(line)
    codes, chances = np.array(case["codes"]), np.array(case["chances"])
    found = {}
    for name in ("self_confidence", "normalized_margin"):
        found[name] = (1 - get_label_quality_scores(codes, chances, method=name)).tolist()
    found["flags"] = find_label_issues(codes, chances, n_jobs=1).tolist()
    print(json.dumps(found), flush=True)
"""


def wrong_labels(
    codes: np.ndarray,
    confusion: np.ndarray | None,
    rate: float,
    kind: str,
    rng: np.random.Generator,
) -> np.ndarray:
    """The labels, a share of them wrong; `confusion` says which class is taken for which."""
    given, n_classes = codes.copy(), codes.max() + 1
    for row in rng.choice(len(codes), max(1, round(rate * len(codes))), replace=False):
        own = codes[row]
        other = (own + rng.integers(1, n_classes)) % n_classes
        given[row] = other if kind == "random" else confusion[own].argmax()
    return given


def rows_of(folder: Path, family: Family, n_labelled: int, seed: int, peer: "Peer") -> list[dict]:
    """All shares and kinds of wrong labels of one task."""
    pack = pack_of(folder, family.pack)
    task = draw_rows(pack.labels, family, n_labelled, seed, n_pool=0)
    codes, n_classes = task.codes, len(task.classes)
    rng = np.random.default_rng([seed, n_labelled, *family.name.encode()])
    view = chosen_view(pack, task.labelled, wrong_labels(codes, None, 0.05, "random", rng))
    features, test = pack.at(view, task.labelled), pack.at(view, task.test)

    def accuracy(labels: np.ndarray) -> float:
        head = head_problem(features, labels, n_classes).labelled.supervised[0]
        return 100 * float((head.predict(test) == task.test_codes).mean())

    clean, all_right = LabelEvidence(features, codes), accuracy(codes)
    first = mean_chances(clean.held_out)
    confusion = np.stack([first[codes == code].mean(axis=0) for code in range(n_classes)])
    np.fill_diagonal(confusion, 0)
    found = []
    for rate, kind in product(RATES, KINDS):
        given = wrong_labels(codes, confusion, rate, kind, rng)
        evidence, is_wrong = LabelEvidence(features, given), given != codes
        flags = evidence.scores >= SUSPECT
        chances = mean_chances(evidence.held_out)
        scores = {"mixmood": evidence.scores, "one round": label_scores(chances, given)[0]}
        others = peer.scores(given, chances)
        peer_flags = np.array(others.pop("flags"))
        scores |= {f"cleanlab {name}": np.array(values) for name, values in others.items()}

        found.append({
            "task": family.name, "seed": seed, "n_labelled": n_labelled, "rate": rate, "kind": kind,
            "view": str(view), "n_wrong": int(is_wrong.sum()),
            "accuracy_of_clean": 100 * clean.accuracy.value,
            "precision": {
                name: float(average_precision_score(is_wrong, one)) for name, one in scores.items()
            },
            "recall": {name: recall(is_wrong, one, 1) for name, one in scores.items()},
            "recall_twice": {name: recall(is_wrong, one, 2) for name, one in scores.items()},
            "flags": {
                "mixmood": [int(flags.sum()), int((flags & is_wrong).sum())],
                "cleanlab": [int(peer_flags.sum()), int((peer_flags & is_wrong).sum())],
            },
            "accuracy": {
                "given": accuracy(given),
                "flagged corrected": accuracy(np.where(flags, codes, given)),
                "all right": all_right,
            },
        })  # fmt: skip
    return found


def recall(is_wrong: np.ndarray, scores: np.ndarray, times: int) -> float:
    """The share of the wrong labels among the worst, `times` as many as there are wrong ones."""
    worst = np.argsort(-scores, kind="stable")[: times * int(is_wrong.sum())]
    return float(is_wrong[worst].sum() / is_wrong.sum())


class Peer:
    """cleanlab in its own interpreter; without one it has no scores."""

    def __init__(self, python: str | None) -> None:
        """Start the interpreter, if one is named."""
        self._process = None
        if python:
            self._process = subprocess.Popen(
                [python, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )

    def scores(self, codes: np.ndarray, chances: np.ndarray) -> dict[str, list]:
        """Scores by their names, and flags."""
        if self._process is None:
            return {"flags": [False] * len(codes)}
        case = {"codes": codes.tolist(), "chances": chances.tolist()}
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def page(rows: list[dict]) -> str:
    """The tables of the results."""
    names = list(rows[0]["precision"])
    lines = [
        f"{len(rows)} labelled sets: {len({row['task'] for row in rows})} report tasks, "
        f"{len({row['seed'] for row in rows})} seeds, 60 and 150 labels.",
        "",
        "Average precision (and recall at the true number of wrong labels), means:",
        "",
        f"| kind | wrong | {' | '.join(names)} |",
        "|---|---|" + "---|" * len(names),
    ]
    for kind, rate in [*product(KINDS, RATES), ("all", 0)]:
        some = [row for row in rows if kind == "all" or (row["kind"], row["rate"]) == (kind, rate)]
        cells = [
            f"{_mean(some, 'precision', n):.3f} ({_mean(some, 'recall', n):.2f})" for n in names
        ]
        lines.append(f"| {kind} | {f'{rate:.0%}' if rate else 'all'} | {' | '.join(cells)} |")
    lines += ["", "By task, all kinds and shares:", "", f"| task | labels | {' | '.join(names)} |"]
    lines.append("|---|---|" + "---|" * len(names))
    for task, n in sorted({(row["task"], row["n_labelled"]) for row in rows}):
        some = [row for row in rows if (row["task"], row["n_labelled"]) == (task, n)]
        cells = [f"{_mean(some, 'precision', name):.3f}" for name in names]
        lines.append(f"| {task} | {n} | {' | '.join(cells)} |")
    lines += [
        "",
        "Tasks with at least 90 % accuracy (held out, before labels were made wrong):",
        "",
        "| kind | wrong | found among twice as many | flags a wrong label | found by flags | "
        "cleanlab: flags | cleanlab: found |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, rate in [*product(KINDS, RATES), ("both", 0.05)]:
        some = [
            row
            for row in rows
            if row["rate"] == rate
            and kind in (row["kind"], "both")
            and row["accuracy_of_clean"] >= 90
        ]
        cells = [f"{_mean(some, 'recall_twice', 'mixmood'):.0%}"]
        for name in ("mixmood", "cleanlab"):
            flags = np.array([np.array(row["flags"][name]) / row["n_wrong"] for row in some])
            cells += [f"{flags[:, 0].mean():.2f}", f"{flags[:, 1].mean():.0%}"]
        lines.append(f"| {kind} | {rate:.0%} | {' | '.join(cells)} |")
    lines += [
        "",
        "Accuracy on test images, percent, all tasks:",
        "",
        "| kind | wrong | labels as given | flagged labels corrected | all labels right |",
        "|---|---|---|---|---|",
    ]
    for kind, rate in product(KINDS, RATES):
        some = [row for row in rows if (row["kind"], row["rate"]) == (kind, rate)]
        cells = [f"{_mean(some, 'accuracy', name):.1f}" for name in some[0]["accuracy"]]
        lines.append(f"| {kind} | {rate:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _mean(rows: list[dict], key: str, name: str) -> float:
    return float(np.mean([row[key][name] for row in rows]))


def main() -> None:
    """Compute the rows that the file lacks, and print the tables."""
    parser = study_parser(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--part", choices=["development", "report"], default="report")
    parser.add_argument("--cleanlab", metavar="PYTHON")
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    given.rows.touch()
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()]
    done = {(row["task"], row["seed"], row["n_labelled"]) for row in rows}
    families, peer = (DEVELOPMENT if given.part == "development" else REPORT), Peer(given.cleanlab)
    for seed, n_labelled, family in product(given.seeds, LABELS, families.values()):
        if (family.name, seed, n_labelled) not in done:
            rows += (new := rows_of(given.features, family, n_labelled, seed, peer))
            with given.rows.open("a") as file:
                file.write("".join(json.dumps(row) + "\n" for row in new))
    print(page(rows))


if __name__ == "__main__":
    main()
