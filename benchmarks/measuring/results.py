"""The outcomes of the last runs, kept as JSON and shown as benchmarks/RESULTS.md."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.measuring.processes import ROOT
from benchmarks.measuring.row import Row
from mixmood.core.files import write_atomic

STORE = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "benchmarks" / "RESULTS.md"
LIBRARIES = ("mixmood", "numpy", "scipy", "pillow", "onnxruntime", "torch")
HEAD = """# Benchmarks

Written by `make bench` (`python -m benchmarks`); do not edit. Each ratio compares two things that
were measured in turn (A B A B ...) in one run: the median of the rounds, then the smallest and
the largest. [docs/performance.md](../docs/performance.md) has the figures that users need.

| case | what | against | values | ratio | goal | reached |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Outcome:
    """The rows of a case, and where it was measured."""

    rows: list[dict]
    skipped: str | None
    elapsed_s: float
    surroundings: dict[str, str]


def surroundings() -> dict[str, str]:
    """The machine, its load now, and the versions of what matters."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "machine": f"{processor()}, {n_cores} cores, {platform.system()} {platform.machine()}",
        "load average at the start": load,
        "versions": f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {installed(name)}" for name in LIBRARIES),
    }


def processor() -> str:
    """The name of the processor, if the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown processor"


def installed(name: str) -> str:
    """The version of a library, or that it is absent."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def lines_of(outcome: Outcome) -> list[str]:
    """The rows of a case for the terminal."""
    if outcome.skipped:
        return [f"skipped: {outcome.skipped}"]
    lines = []
    for row in (Row(**row) for row in outcome.rows):
        lines += [f"{row.what}\n  against {row.against}"]
        lines += [f"  {spread(row)}; goal {row.goal}, {reached(row)}; {row.values}"]
        lines += [f"  {row.note}"] if row.note else []
    return [*lines, f"  ({outcome.elapsed_s:.0f} s)"]


def merge(name: str, outcome: Outcome) -> None:
    """Replace the last outcome of a case by this one, and write the page again."""
    known = json.loads(STORE.read_text()) if STORE.exists() else {}
    known[name] = asdict(outcome)
    ordered = {case: known[case] for case in CASES if case in known}
    write_atomic(STORE, json.dumps(ordered, indent=1) + "\n")
    write_atomic(PAGE, page({case: Outcome(**value) for case, value in ordered.items()}))


def page(outcomes: dict[str, Outcome]) -> str:
    """The table of all cases, then the notes, then where each was measured."""
    table, notes, places = [], [], {}
    for name, outcome in outcomes.items():
        if outcome.skipped:
            table.append(f"| {name} | {CASES[name][1]} | | | skipped: {outcome.skipped} | | |")
        for row in (Row(**row) for row in outcome.rows):
            cells = (name, row.what, row.against, row.values, spread(row), row.goal, reached(row))
            table.append("| " + " | ".join(cells) + " |")
            notes += [f"- **{name}** ({row.against}): {row.note}"] if row.note else []
        where = dict(outcome.surroundings)
        load = where.pop("load average at the start")
        place = "\n".join(f"- {key}: {value}" for key, value in where.items())
        told = f"{name} ({outcome.elapsed_s:.0f} s, load {load})"
        places.setdefault(place, []).append(told)
    told = [
        f"{place}\n- load average when a case began: {'; '.join(c)}" for place, c in places.items()
    ]
    parts = ["\n".join(table), "## Notes", "\n".join(notes), "## Where", "\n\n".join(told)]
    return HEAD + "\n\n".join(parts) + "\n"


def spread(row: Row) -> str:
    """The ratio and its spread, with three significant digits."""
    middle, low, high = (f"{value:.3g}" for value in (row.ratio, row.lowest, row.highest))
    if max(row.ratio, row.highest) >= 1000:
        middle, low, high = (f"{value:,.0f}" for value in (row.ratio, row.lowest, row.highest))
    return f"{middle}{row.unit}" if low == high else f"{middle}{row.unit} ({low} to {high})"


def reached(row: Row) -> str:
    """Whether the goal is reached, in a word."""
    return {True: "yes", False: "no", None: ""}[row.is_met]
