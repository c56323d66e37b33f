"""Every measured number of README.md, and where it comes from.

    python -m benchmarks.readme_numbers

Each claim is written anew from the records; it must stand in the README word for word. What its
console blocks print is compared by tests/docs.
"""

import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.journey import page as journeys
from benchmarks.probe import judge
from benchmarks.probe.cases import read_rows
from benchmarks.probe.evidence import REPORT_ROWS, columns_of
from benchmarks.replication import page as replication
from benchmarks.replication.records import CENTRAL, published
from benchmarks.results_page import HEAD, MAIN, RESULTS, lines_of
from benchmarks.testbed import predictors
from benchmarks.testbed.records import pools_of, units_of
from benchmarks.testbed.records import read_rows as read_runs
from mixmood.core.text import counted
from mixmood.testbed.analysis.agreement import MEAN, arm_agreement_rows

ROOT = Path(__file__).parents[1]
README, PAPER = ROOT / "README.md", ROOT / "src" / "mixmood" / "testbed" / "paper"
ROWS = {
    "mixmood": "`mixmood train L P1 ... P5`",
    "SelfTraining, nearest": "SelfTraining, nearest pool",
    "SelfTraining, all": "SelfTraining, all pools",
    "paper": "the paper's way: nearest pool, MixMatch",
    "logistic": "logistic regression",
    "logistic, 96 px last": (
        "logistic regression without the choice of the view (96 px, last layer)"
    ),
}
"""The rows of the table of the journey."""
NUMBERS = {5: "five", 7: "seven", 10: "ten"}


@dataclass(frozen=True)
class Claim:
    """Words of the README with numbers, and the records that they come from."""

    words: str
    source: str


def journey_claims() -> Iterator[Claim]:
    """The table of `mixmood train` beside its peers."""
    rows = lines_of(RESULTS / "journey" / "report.jsonl")
    tasks, seeds = (len({row[name] for row in rows}) for name in ("task", "seed"))
    yield Claim(
        f"{NUMBERS[tasks]} tasks on which no setting was chosen, {NUMBERS[seeds]} seeds",
        "results/journey",
    )
    for method, words in ROWS.items():
        cells = [words]
        for n in journeys.labels_of(rows):
            own = [row for row in rows if row["labels_a_class"] == n]
            right = journeys.mean(own, lambda row, m=method: journeys.accuracy(row, m))
            gain = journeys.mean(own, lambda row, m=method: journeys.points(row, m))
            cells.append(f"{right:.1f}" + ("" if method == journeys.BASE else f" ({gain:+.1f})"))
        yield Claim(f"| {' | '.join(cells)} |", "results/journey")


def gain_claims() -> Iterator[Claim]:
    """How well gains are predicted."""
    rows = columns_of(read_rows(REPORT_ROWS))[MAIN]
    groups, probe = judge.by_task_and_seed(rows), judge.calibration(rows, HEAD)
    r, by_cosine = (
        judge.agreement(groups, HEAD, name)["pearson"]["mean"] for name in ("probe: gain", "cosine")
    )
    most = judge.perfect(judge.independent(groups, HEAD)["mean"])
    harm = judge.advice_table(rows, HEAD)["used_that_harm"]["share"]
    yield Claim(
        f"On {counted(len(rows), 'pool')} of {NUMBERS[len(groups)]} tasks that had no part in its "
        "fit (60 labels)",
        "results/probe",
    )
    yield Claim(
        f"is {r:.2f} (a perfect predictor would reach about {most:.2f}), and "
        f"{probe['coverage_of_intervals']:.0%} of".replace("%", " %"),
        "results/probe",
    )
    yield Claim(f"nearness by `cosine` is {by_cosine:.2f}", "results/probe")
    yield Claim(f"{100 * harm:.0f} % harm by more than half a point", "results/probe")


def paper_claims() -> Iterator[Claim]:
    """The paper's own tables: what the nearest pool costs against the best one."""
    with (PAPER / "table2_distances.csv").open() as file:
        near = {
            (row["task"], row["ood_source"], row["ood_percent"]): float(row["distance_mean"])
            for row in csv.DictReader(file)
            if row["measure"] == "cosine"
        }
    with (PAPER / "table1_accuracy.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["ood_percent"] in ("50", "100")]
    lost: dict[str, list[float]] = {"100": [], "50": []}
    for percent, found in lost.items():
        own = [row for row in rows if row["ood_percent"] == percent]
        for task, n in dict.fromkeys((row["task"], row["n_labelled"]) for row in own):
            right = {
                row["ood_source"]: 100 * float(row["accuracy_mean"])
                for row in own
                if (row["task"], row["n_labelled"]) == (task, n)
            }
            nearest = min(right, key=lambda source: near[task, source, percent])
            found.append(max(right.values()) - right[nearest])
    source = "src/mixmood/testbed/paper"
    wholly, half = lost["100"], lost["50"]
    yield Claim(f"{max(wholly):.1f} points less accuracy", source)
    yield Claim(f"({np.mean(wholly):.1f} on average)", source)
    yield Claim(f"0 to {max(half):.1f} ({np.mean(half):.1f} on average)", source)


def grid_claims() -> Iterator[Claim]:
    """The paper's grid on frozen features, by the number that the paper gives."""
    folder = RESULTS / "paper-frozen"
    units = predictors.whole(units_of(pools_of(read_runs(folder)), "60", "mixmatch"))
    seeds = len({seed for _, seed in units})
    by_gain, by_cosine = (
        predictors.as_paper(predictors.contaminated(units), name).value
        for name in ("probe: expected gain", "cosine")
    )
    yield Claim(
        f"On the paper's grid (60 labels, MixMatch heads, {NUMBERS[seeds]} seeds) the expected "
        f"gain correlates with accuracy, as the paper measures it, by {by_gain:.2f}, nearness by "
        f"`cosine` by {by_cosine:.2f}",
        "results/paper-frozen",
    )


def replication_claims() -> Iterator[Claim]:
    """The arms of the paper's protocol."""
    records = published(CENTRAL)
    rows = arm_agreement_rows(records)

    def cost(arm: str) -> float:
        clean, noise = (
            np.mean([replication.accuracy(r, arm, "best") for r in replication.on(records, some)])
            for some in (("none",), replication.NOISES)
        )
        return float(clean - noise)

    def r(arm: str) -> float:
        return float(replication.correlation(rows, MEAN, arm, "best", "cosine").pearson)

    yield Claim(f"such pools cost {cost('B'):.0f} points against a clean one and r is {r('B'):.2f}",
                "results/replication")  # fmt: skip
    yield Claim(f"if not, {cost('A'):.0f} points and {r('A'):.2f}", "results/replication")
    full, words = replication.whole("full-size"), []
    for arm in "BA":
        own = [replication.r_with_paper(full, task, arm) for task in replication.TASKS]
        words.append(f"{np.mean(own):+.2f}")
    yield Claim(f"with the paper's own distances r is {words[0]} and {words[1]}",
                "results/replication")  # fmt: skip


def claims() -> list[Claim]:
    """All of them."""
    return [
        *journey_claims(),
        *gain_claims(),
        *paper_claims(),
        *grid_claims(),
        *replication_claims(),
    ]


def is_written(claim: Claim) -> bool:
    """Whether the README has the words, wherever its lines end."""
    text = " ".join(README.read_text(encoding="utf-8").split())
    return " ".join(claim.words.split()) in text


def main() -> None:
    """Print every claim; exit 1 if the README does not have one of them."""
    missing = 0
    for claim in claims():
        is_there = is_written(claim)
        missing += not is_there
        print(f"{'ok     ' if is_there else 'MISSING'}  {claim.source}: {claim.words}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
