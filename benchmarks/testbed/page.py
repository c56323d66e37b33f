"""Writes the tables of docs/results.md from the records in results/.

    python -m benchmarks.testbed.page

A table is between `<!-- NAME -->` and `<!-- end -->`; it is replaced, and the text around it is not
changed. A table of a test bed that was not run says so.
"""

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.testbed import choice, claims, dose, predictors, untrained, variants
from benchmarks.testbed.predictors import gains, scores
from benchmarks.testbed.records import pools_of, read_rows, units_of
from benchmarks.testbed.units import Mean, by_unit, mean_correlation, pearson
from mixmood.core.files import write_atomic
from mixmood.core.text import counted
from mixmood.measures.registry import MEASURES

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "results", ROOT / "docs" / "results.md"
MAIN, GAIN = "mixmatch", "probe: expected gain"
BEDS = (
    "paper-frozen", "paper-tuned", "dose", "paper-small", "paper-small-labelled", "digits",
    "digits-labelled",
)  # fmt: skip

REGIMES = {"frozen": "paper-frozen", "fine-tuned": "paper-tuned", "from scratch": "paper-small"}


def runs() -> list[str]:
    """The number of runs of each test bed."""
    lines = [
        "| test bed | regime | runs | of | seeds | minutes of one core |",
        "|---|---|---|---|---|---|",
    ]
    for name in BEDS:
        folder = RESULTS / name
        if not (folder / "records.csv.gz").exists():
            lines.append(f"| `{name}` | | not run | {n_wanted(name)} | | |")
            continue
        rows = read_rows(folder)
        # Records of earlier versions have the time by the clock alone.
        spent = sum(float(row.get("cpu_s") or row.get("total_s") or 0) for row in rows) / 60
        seeds = {row["seed"] for row in rows}
        regime = rows[0].get("regime") or "scratch"
        words = (f"`{name}`", regime, len(rows), n_wanted(name), len(seeds), f"{spent:.0f}")
        lines.append("| " + " | ".join(map(str, words)) + " |")
    return lines


def n_wanted(name: str) -> int:
    """The runs that a preset asks for."""
    from mixmood.testbed.cells import runs as runs_of
    from mixmood.testbed.config import load_config

    return len(runs_of(load_config(name)))


def predicted(name: str, n_labelled: str, algorithm: str = MAIN) -> list[str]:
    """The predictors of one test bed."""
    folder = RESULTS / name
    if not (folder / "records.csv.gz").exists():
        return ["Not run yet."]
    units = predictors.whole(units_of(pools_of(read_rows(folder)), n_labelled, algorithm))
    if not units:
        return ["Not run yet."]
    tasks, seeds = {task for task, _ in units}, {seed for _, seed in units}
    n_runs = sum(map(len, units.values()))
    sizes = (counted(len(tasks), "task"), counted(len(seeds), "seed"), counted(n_runs, "run"))
    return [f"{', '.join(sizes)}.", "", *predictors.table(units)]


def overview() -> list[str]:
    """All predictors for MixMatch in every regime and number of labels."""
    columns = {}
    for regime, bed in REGIMES.items():
        pools = pools_of(read_rows(RESULTS / bed))
        for n_labelled in sorted({pool.row["n_labelled"] for pool in pools}, key=int):
            units = predictors.whole(units_of(pools, n_labelled, MAIN))
            seeds = counted(len({seed for _, seed in units}), "seed")
            columns[f"{regime}, {n_labelled} labels ({seeds})"] = units
    return predictors.overview(columns)


def short() -> list[str]:
    """The answer in a few sentences, with the numbers of 60 labels."""
    folder = RESULTS / "paper-frozen"
    if not (folder / "records.csv.gz").exists():
        return ["Not run yet."]
    units = predictors.whole(units_of(pools_of(read_rows(folder)), "60", MAIN))
    mixed = {unit: [p for p in pools if p.percent > 0] for unit, pools in units.items()}
    foreign = {unit: [p for p in pools if p.percent == 100] for unit, pools in units.items()}

    def r(name: str) -> Mean:
        return mean_correlation(by_unit(mixed, lambda p: pearson(scores(p, name), gains(p))))

    best = max(MEASURES, key=lambda name: r(name).value)
    harmed = {name: predictors.cells_of(foreign, name)[3] for name in ("cosine", "advice")}
    lost = {name: predictors.cells_of(mixed, name)[2] for name in ("cosine", GAIN)}
    seeds = counted(len({seed for _, seed in units}), "seed")
    return [
        f"With 60 labels and MixMatch ({seeds}), the correlation with the true gain of a pool is "
        f"{r(GAIN).text()} for the gain that the probe expects, {r('useful share').text()} for "
        f"the useful share, {r(best).text()} for the best distance ({best}) and "
        f"{r('cosine').text()} for the paper's cosine. Picking among the contaminated pools by "
        f"cosine loses {lost['cosine']} points against the best choice, by expected gain "
        f"{lost[GAIN]}. Among wholly foreign pools, the nearest by cosine is worse than no pool in "
        f"{harmed['cosine']} of cases; following the advice, the choice is in {harmed['advice']}.",
    ]


def text_of(summary: Callable[[Path], str], name: str) -> list[str]:
    """The summary of a folder without its title, headings one level deeper."""
    folder = RESULTS / name
    try:
        lines = summary(folder).splitlines()[2:]
    except FileNotFoundError:
        return ["Not run yet."]
    return [re.sub("^## ", "### ", line) for line in lines]


TABLES: dict[str, Callable[[], list[str]]] = {
    "runs": runs,
    "short": short,
    "overview": overview,
    **{f"predictors {n}": lambda n=n: predicted("paper-frozen", n) for n in ("60", "100", "150")},
    **{
        f"predictors 60 {name}": lambda name=name: predicted("paper-frozen", "60", name)
        for name in ("pseudo-label", "propagation")
    },
    "predictors tuned": lambda: predicted("paper-tuned", "60"),
    "predictors scratch": lambda: predicted("paper-small", "60"),
    "claims": lambda: text_of(claims.summary, "paper-frozen"),
    "regimes": lambda: claims.by_regime({name: RESULTS / bed for name, bed in REGIMES.items()}),
    "dose": lambda: text_of(dose.summary, "dose"),
    "measures": lambda: text_of(choice.summary, "measures"),
    "untrained": lambda: text_of(untrained.summary, "untrained"),
    "variants": lambda: variants.lines(RESULTS),
}


def filled(text: str, tables: dict[str, Callable[[], list[str]]] = TABLES) -> str:
    """The page with its tables as the records have them now."""

    def block(match: re.Match[str]) -> str:
        name = match[1]
        if name not in tables:
            return match[0]
        return "\n".join([f"<!-- {name} -->", "", *tables[name](), "", "<!-- end -->"])

    return re.sub(r"<!-- ([a-z0-9 -]+?) -->\n.*?<!-- end -->", block, text, flags=re.DOTALL)


def main() -> None:
    """Fill the page."""
    write_atomic(PAGE, filled(PAGE.read_text(encoding="utf-8")))
    print(f"{PAGE.relative_to(ROOT)} is written.")


if __name__ == "__main__":
    main()
