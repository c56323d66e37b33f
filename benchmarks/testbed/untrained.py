"""Do distances of the authors' untrained network predict accuracy as well as those of Lite0?

Reads the records of the folder and of `paper-frozen` beside it; both have the same pools, and
the same heads were trained. `benchmarks.testbed.page` writes the table.
"""

from pathlib import Path

from benchmarks.testbed.predictors import gains, scores
from benchmarks.testbed.records import Pool, pools_of, read_rows, units_of
from benchmarks.testbed.units import Unit, by_unit, mean_correlation, mean_over, pearson
from mixmood.core.text import counted

Units = dict[Unit, list[Pool]]
MEASURES = ("l1", "l2", "js", "cosine", "classifier")


def contaminated(folder: Path) -> Units:
    """The contaminated pools with 60 labels, trained with MixMatch."""
    units = units_of(pools_of(read_rows(folder)), "60", "mixmatch")
    return {unit: [p for p in pools if p.percent > 0] for unit, pools in units.items()}


def summary(folder: Path) -> str:
    """A row for each measure."""
    without, trained = contaminated(folder), contaminated(folder.parent / "paper-frozen")
    both = {
        unit for unit in without.keys() & trained.keys() if len(without[unit]) == len(trained[unit])
    }
    without, trained = ({u: own[u] for u in sorted(both)} for own in (without, trained))
    tasks, seeds = {task for task, _ in both}, {seed for _, seed in both}
    lines = [
        "# The untrained network",
        "",
        f"{counted(len(tasks), 'task')}, {counted(len(seeds), 'seed')}, 60 labels, MixMatch; "
        "Pearson's r of nearness and gain, within a task and seed.",
        "",
        "| measure | EfficientNet-Lite0, 30 draws | untrained, 5 draws | difference |",
        "|---|---|---|---|",
    ]
    for name in MEASURES:
        found = [
            by_unit(own, lambda p, name=name: pearson(scores(p, name), gains(p)))
            for own in (trained, without)
        ]
        apart = {unit: found[1][unit] - found[0][unit] for unit in found[0]}
        words = [mean_correlation(one).text() for one in found]
        words.append(mean_over(apart, "seeds").text(sign=True))
        lines.append(f"| {name} | " + " | ".join(words) + " |")
    return "\n".join([*lines, ""])
