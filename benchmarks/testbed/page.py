"""README.md of a folder of results of the test bed, written from its records.

    python -m benchmarks.testbed.page results/dose [--store STORE]

With the store of the runs, its tables, figures and records are written into the folder first.
"""

import argparse
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import mixmood
from benchmarks.study import table
from benchmarks.testbed import choice, claims, dose, predictors, robustness, untrained
from benchmarks.testbed.records import read_rows
from mixmood.core.files import write_atomic
from mixmood.core.text import counted

PRESET = "mixmood testbed run {name} --store STORE --jobs 2"
COMMANDS = {
    "untrained": "mixmood testbed run benchmarks/testbed/untrained.toml --store STORE --jobs 2",
    "measures": "python -m benchmarks.testbed.choice_rows FEATURES results/measures "
    "--part development --seeds {seeds}",
}
SECTIONS: dict[str, tuple[Callable[[Path], str], ...]] = {
    "dose": (robustness.summary, dose.summary),
    "paper-frozen": (claims.summary, predictors.summary),
    "untrained": (untrained.summary,),
    "measures": (choice.summary,),
}


def commands(name: str, seeds: int) -> list[str]:
    """What to type to get this page."""
    run = COMMANDS.get(name, PRESET).format(name=name, seeds=seeds)
    store = "" if name == "measures" else " --store STORE"
    return [f"    {run}", f"    python -m benchmarks.testbed.page results/{name}{store}"]


def runs_of(folder: Path) -> list[str]:
    """How many runs there are, and in which views."""
    rows = read_rows(folder)
    seeds = counted(len({row["seed"] for row in rows}), "seed")
    views: dict[str, Counter[str]] = {}
    for row in rows:
        views.setdefault(row["task"], Counter())[row["view"] or "96 px, last"] += 1
    body = [
        [task, "; ".join(f"{view} ({n / found.total():.0%})" for view, n in found.most_common())]
        for task, found in views.items()
    ]
    return [f"{counted(len(rows), 'run')}, {seeds}.", "", *table("task | view of the runs", body)]


def below_title(text: str) -> str:
    """A section of the page: its own title, if it has one, and all below it are one level lower."""
    lower = re.sub("^#", "##", text, flags=re.MULTILINE) if text.startswith("# ") else text
    return lower.rstrip("\n")


def page(folder: Path) -> str:
    """The whole text."""
    name = folder.name
    is_bed = (folder / "records.csv.gz").exists()
    seeds = len(choice.seeds_of(folder)) if not is_bed else 0
    lines = [f"# results/{name}", "", *commands(name, seeds), ""]
    if is_bed:
        lines += [*runs_of(folder), ""]
    parts = [below_title(section(folder)) for section in SECTIONS[name]]
    return "\n".join(lines) + "\n" + "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the tables, then the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    if given.store:
        mixmood.testbed_tables(given.store, beside_paper=given.folder.name == "paper-frozen").write(
            given.folder
        )
    write_atomic(given.folder / "README.md", page(given.folder))
    print(f"{given.folder / 'README.md'} is written.")


if __name__ == "__main__":
    main()
