"""docs/results.md and its figures, written from results/: `python -m benchmarks.results_page`.

Nothing is computed here but summaries of rows that other modules wrote; each section names the
commands that wrote them. A part that was not run in the chosen view says so.
"""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.filter import summary as filters
from benchmarks.filter.evidence import COMPETITOR
from benchmarks.filter.goals import covered, holds, share_errors
from benchmarks.journey import page as journeys
from benchmarks.labels import next as labelling
from benchmarks.probe import judge
from benchmarks.probe.cases import read_rows
from benchmarks.probe.evidence import ORDERS, REPORT_ROWS, columns_of
from benchmarks.study import percent_with_interval, share_with_interval, table
from benchmarks.testbed import choice, robustness
from benchmarks.testbed.predictors import short_table, whole
from benchmarks.testbed.records import pools_of, units_of
from benchmarks.testbed.records import read_rows as read_runs
from benchmarks.view import summary as views
from mixmood.core.files import write_atomic
from mixmood.core.options import DEFAULT_SCORE, PROBE_ALGORITHMS

ROOT = Path(__file__).parents[1]
RESULTS, PAGE, IMAGES = ROOT / "results", ROOT / "docs" / "results.md", ROOT / "docs" / "images"
HEAD = PROBE_ALGORITHMS[0]
MAIN = "60 labels"
NOT_RUN = ["Not run in the chosen view yet."]
STYLE = {"svg.hashsalt": "mixmood", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False}  # fmt: skip
Lines = list[str]


def met(is_met: bool) -> str:
    """A goal's last column."""
    return "yes" if is_met else "**no**"


def lines_of(path: Path) -> list[dict]:
    """The rows of a file of JSON lines; none if there is no file."""
    if not path.exists():
        return []
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def saved(figure: Figure, name: str, words: str) -> Lines:
    """Write a figure; the line that shows it."""
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None})
    return ["", f"![{words}](images/{name}.svg)"]


def view_section() -> Lines:
    """How much the view matters."""
    rows = lines_of(RESULTS / "view" / "report.jsonl")
    found = []
    for n in sorted({row["n_labelled"] for row in rows}):
        own = [row for row in rows if row["n_labelled"] == n]
        means = [
            np.mean([row["accuracies"][views.OLD] for row in own]),
            np.mean([views.chosen(row) for row in own]),
            np.mean([max(row["accuracies"].values()) for row in own]),
        ]
        found.append([n, *(f"{mean:.1f}" for mean in means), views.with_interval(own)])
    return [
        "Percent right without a pool, mean of seven tasks, five seeds. The chosen view is within "
        "0.5 points of the best in hindsight at 60 labels; the worst task gains 1.7 points. "
        "([What a view is](view.md); `python -m benchmarks.view.accuracy`, `results/view`.)",
        "",
        *table("labels | 96 px, last layer | chosen view | best view in hindsight | points gained",
               found),
        "",
        "![Accuracy by resolution and depth on six tasks](images/view.svg)",
    ]  # fmt: skip


def journey_section() -> Lines:
    """`mixmood train` with five pools, beside its peers."""
    rows = lines_of(RESULTS / "journey" / "report.jsonl")
    journeys.draw(rows, IMAGES / "journey")
    (IMAGES / "journey.png").unlink()
    seeds = len({row["seed"] for row in rows})
    goals = list(journeys.goals(rows))
    n_met = sum(line.startswith("- met") for line in goals)
    missed = [line.removeprefix("- **missed**: ") for line in goals if "missed" in line[:12]]
    return [
        "A few labels and five pools of unknown quality: clean, a crawl (a third useful), near "
        "foreign, far foreign, noise. Accuracy on test images, and points against logistic "
        f"regression on the same features; seven tasks, {seeds} seeds (`python -m "
        "benchmarks.journey`, `results/journey`).",
        "",
        *journeys.short_table(rows),
        "",
        "![Points of each method](images/journey.svg)",
        "",
        f"{n_met} of {len(goals)} goals were met. Missed: {'; '.join(missed)}.",
    ]


def gain_section() -> Lines:
    """How well the expected gain predicts the true one."""
    rows = read_rows(REPORT_ROWS)
    columns = columns_of(rows)
    found = {name: judge.facts(own, HEAD) for name, own in columns.items()}
    body = [
        [what, *(one[what].text for one in found.values()), fact.goal,
         met(fact.is_met) if fact.goal else ""]
        for what, fact in found[MAIN].items()
    ]  # fmt: skip
    orders = judge.order_rows(columns[MAIN], HEAD)
    return [
        f"The true gain of a pool is the mean of two trainings ({HEAD} weighted by the chance to "
        "be useful, as `train` does) on parts of 1,000 images, on all test images. Numbers are "
        "computed within a task and seed and then averaged. Two estimates of the true gain that "
        "share neither pool nor test images agree so little that a perfect predictor would not "
        "reach 1 either: where all pools gain nearly nothing there is nothing to predict "
        "(`results/probe`).",
        "",
        *table(f"what | {' | '.join(columns)} | goal at {MAIN} | met", body),
        *gain_figure(columns[MAIN]),
        "",
        f"What orders pools, {MAIN}:",
        "",
        *table(ORDERS, orders),
    ]  # fmt: skip


def gain_figure(rows: list[dict]) -> Lines:
    """Expected against true gain, and how often pools help by what `p_helps` says."""
    probes = [judge.probe_of(row, HEAD) for row in rows]
    true = np.array([judge.truth(row, HEAD) for row in rows])
    gains, chances = (np.array([getattr(p, k) for p in probes]) for k in ("gain", "p_helps"))
    with rc_context(STYLE):
        figure = Figure(figsize=(8.5, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for task in dict.fromkeys(row["task"] for row in rows):
            own = np.array([row["task"] == task for row in rows])
            left.plot(gains[own], true[own], "o", ms=3, alpha=0.6, label=task)
        ends = [min(gains.min(), true.min()), max(gains.max(), true.max())]
        left.plot(ends, ends, color="#888888", lw=0.8)
        left.set(xlabel="expected gain (points)", ylabel="true gain (points)")
        left.legend(fontsize=7, frameon=False)
        edges = np.quantile(chances, np.linspace(0, 1, 9))
        places = np.clip(np.searchsorted(edges, chances, side="right") - 1, 0, 7)
        for k in np.unique(places):
            own = places == k
            mean, n = (true[own] > 0).mean(), own.sum()
            error = 2 * np.sqrt(max(mean * (1 - mean), 0.25 / n) / n)
            right.errorbar(chances[own].mean(), mean, error, fmt="o", color="#2c5f8a", ms=4)
        right.plot([0, 1], [0, 1], color="#888888", lw=0.8)
        right.set(xlabel="chance to help, as printed", ylabel="share that helped", ylim=(0, 1.02))
    return saved(figure, "gain", "Expected against true gain, and how often pools help")


def filter_section() -> Lines:
    """Scores, share and what the kept part gives back."""
    auroc, heads = filters.read("auroc", "report"), filters.read("heads", "report")
    share, unseen = filters.read("share", "report"), filters.read("unseen", "report")

    def mean(rows: list[dict], near: str, **keys: str) -> float:
        own = [r for r in rows if r["near"] == near]
        own = [r for r in own if all(r[key] == value for key, value in keys.items())]
        return filters.mean_over_places(own, lambda r: float(r["auroc"]))

    body = []
    for words, near, goal in (("near", "1", 0.9), ("far", "0", 0.98)):
        own, other = (mean(auroc, near, score=s) for s in (DEFAULT_SCORE, COMPETITOR))
        body.append([f"AUROC, {words} sources", f">= {goal:g}", f"{own:.3f}",
                     f"{other:.3f}", met(own >= goal)])  # fmt: skip
    for words, is_seen in (("that the sample contained", True), ("that it did not", False)):
        some = [r for r in unseen if (r["fitted"] == r["source"]) == is_seen]
        values = [f"{mean(some, near):.3f}" if some else "-" for near in ("1", "0")]
        body.append([f"AUROC of new images, kinds {words}: near, far", "", ", ".join(values),
                     "", ""])  # fmt: skip
    for words, near, goal in (("near", "1", 0.6), ("far", "0", 0.9)):
        names = ("oracle", "weighted", f"kept {DEFAULT_SCORE}", COMPETITOR)
        points = {name: filters.points_back(heads, HEAD, near, name) for name in names}
        shares = {name: value / points["oracle"] for name, value in points.items()}
        text = ", ".join(f"{points[name]:+.2f} ({shares[name]:.0%})" for name in names[1:3])
        body.append([f"points given back, {words}, of {points['oracle']:+.2f} by an oracle: "
                     "weighted, kept", f">= {goal:.0%}", text,
                     f"{points[COMPETITOR]:+.2f} ({shares[COMPETITOR]:.0%})",
                     met(shares["weighted"] >= goal)])  # fmt: skip
    for words, near in (("near", "1"), ("far", "0")):
        own = [r for r in share if r["near"] == near]
        errors, cover = share_errors(own), covered(own)
        body.append([f"mean error of the share, {words}", "<= 10 points",
                     f"{100 * errors.mean():.0f}", "", met(errors.mean() <= 0.1)])  # fmt: skip
        body.append([f"its interval holds the truth, {words}", "93 to 97 %",
                     percent_with_interval(share_with_interval(own, holds)), "",
                     met(0.93 <= round(cover, 2) <= 0.97)])  # fmt: skip
    return [
        "Pools of 1,000 images with known foreign ones, 60 labels, seven tasks. *Near* are other "
        "classes of the same data and similar data sets. *Given back*: of the points that foreign "
        f"images cost ({HEAD}, 25 to 90 % foreign). The competitor (USE, arXiv 2603.00404) takes "
        "the entropy of a classifier and a statistical threshold; ours is a reading of its "
        "description. (`python -m benchmarks.filter.evidence`, `results/filter`.)",
        "",
        *table("what | goal | mixmood | competitor | met", body),
    ]


def dose_section() -> Lines:
    """Gain against foreign share, and robustness."""
    folder = RESULTS / "dose"
    rows = read_runs(folder) if (folder / "records.csv.gz").exists() else []
    if not rows or not rows[0].get("view"):
        return NOT_RUN
    pools = pools_of(rows)
    with rc_context(STYLE):
        figure = Figure(figsize=(8.5, 3.2), layout="constrained")
        robustness.draw(pools, figure)
    return [
        "Heads without the chances to be useful and without any gate: what a pool does by itself. "
        "In a pool of fixed size, more foreign images also mean fewer useful ones; with a fixed "
        "number of useful images, foreign ones are added (`mixmood testbed run dose`, "
        "`results/dose`).",
        *saved(figure, "dose", "Gain against the share of foreign images"),
        "",
        *table(robustness.HEAD, robustness.table(pools)),
    ]


def paper_section() -> Lines:
    """The paper's grid on frozen features."""
    folder = RESULTS / "paper-frozen"
    rows = read_runs(folder) if (folder / "records.csv.gz").exists() else []
    if not rows or not rows[0].get("view"):
        return NOT_RUN
    pools = pools_of(rows)
    units = whole(units_of(pools, "60", "mixmatch"))
    return [
        f"{len(rows)} runs, {len({seed for _, seed in units})} seeds; a MixMatch head, 60 labels, "
        "the ten contaminated pools of a task. The first column is the paper's own number (r of "
        "means over seeds, mean of tasks; 1 would be perfect), the others are computed within a "
        "task and seed (`mixmood testbed run paper-frozen`, `results/paper-frozen`). Some of the "
        "classes are those of development tasks: the table above says more about new data.",
        "",
        *short_table(units),
    ]


def labels_section() -> Lines:
    """check and next."""
    rows = lines_of(RESULTS / "labels" / "next.jsonl")
    found = labelling.means(rows)
    names = list(dict.fromkeys(row["task"] for row in rows))
    seeds = len({row["seed"] for row in rows})
    return [
        "`check`, ten seeds of seven tasks with 60 and 150 labels: average precision for wrong "
        "labels 0.871 (cleanlab on the same probabilities 0.855); with 5 % wrong labels, 98 % of "
        "them are among twice as many first ones where the accuracy is at least 90 % (goal 80). "
        f"`results/labels/check.md`. `next`, from 10 to 60 labels, {seeds} seeds "
        "(`results/labels/next.md`):",
        *labelling.goals(found, names)[1:],
    ]


def defaults_section() -> Lines:
    """The order of pools and the measure, by the conditions that were written before."""
    groups = judge.by_task_and_seed(columns_of(read_rows(REPORT_ROWS))[MAIN])
    by_gain = judge.with_interval(judge.lead(groups, HEAD, "probe: gain", choice.CHOSEN))
    units = choice.probe_units(REPORT_ROWS)
    lead = choice.difference(units, choice.CHOSEN, choice.heads_of(units))
    return [
        "`rank` orders by the expected gain where classes are known: its correlation exceeds that "
        f"of `{choice.CHOSEN}`, the best distance, by {by_gain}. The default measure is the "
        f"paper's `cosine`, unless the best one on development tasks, `{choice.CHOSEN}`, leads on "
        "report tasks by more than the interval of the difference (a condition that was written "
        f"before): its lead is {lead.text()} over tasks, so that "
        + ("it replaces `cosine`" if lead.low > 0 else "`cosine` stays")
        + " (`results/measures`).",
    ]


INTRO = """\
# Results

What was measured, on tasks that had no part in any choice. Records are in `results/`; this page
is written from them by

```sh
python -m benchmarks.results_page
```

Settings are chosen on development tasks: classes 0 to 4 of MNIST, FashionMNIST and CIFAR-10, and
seven breeds of pets. Reported are classes 5 to 9 of these, SVHN, scikit-learn's digits, the five
largest categories of Fashion Product, and seven other breeds ("report tasks"). Features come from
`python -m benchmarks.heads.features PACKS FEATURES`, in the [view](view.md) that the labelled
images choose."""

LOOKS = """\
Report tasks were looked at before these figures, each time without choosing a setting by them but
where it is said: for the choice of the view (accuracies of every view); for `check` and `next`;
for the journey, where equal numbers of pseudo-labels of each class cost 12 points in a run of
Fashion Product and the numbers were then chosen anew on uneven development pools; there, a head
of scikit-learn's was better than ours at 30 labels a class, which led to the least confidence of
pseudo-labels, chosen on development pools; for shares and scores of the filter. The gain on SVHN,
Fashion Product and photographs was not looked at before its first table. That table showed
`p_helps` off by 6 points above a half: more than two errors of independent pools (5 points, by
which the goal was called missed), less than one error over tasks and seeds, by which all intervals
here are made. Heavier tails, and a fit that knows what errors have in common, were tried on
development tasks alone, were no better there, and were not taken (`results/probe`)."""

SCRATCH = """\
The expected gain is that of a head on frozen features. It says nothing about networks: with the
backbone fine-tuned by MixMatch (`results/paper-tuned`, 64 px, five seeds) no predictor is better
than no pool, and from scratch (`results/paper-small`) the correlations are within 0.3 of 0. Why
the paper finds -0.9 there is on a page of its own: [Replication](replication.md)."""

SECTIONS: dict[str, Callable[[], Lines]] = {
    "The view matters more than the pool": view_section,
    "From labels and pools to a model": journey_section,
    "How well the gain is predicted": gain_section,
    "Which images of a pool are useful": filter_section,
    "How much foreign images cost": dose_section,
    "The paper's grid": paper_section,
    "Which labels are wrong, and which images to label next": labels_section,
    "Defaults": defaults_section,
    "Networks": lambda: [SCRATCH],
    "What was seen before": lambda: [LOOKS],
}


def main() -> None:
    """Write the page."""
    parts = [INTRO]
    for title, section in SECTIONS.items():
        parts += [f"## {title}", "\n".join(section())]
    write_atomic(PAGE, "\n\n".join(parts) + "\n")
    print(f"{PAGE.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
