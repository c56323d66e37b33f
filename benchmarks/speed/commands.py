"""Whole commands as a user runs them: a huge pool, a second run, the help."""

import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring.material import five_pools, five_pools_of_photographs, small_jpegs
from benchmarks.measuring.processes import cost, rank_command
from benchmarks.measuring.row import Effort, Row, interleaved, ratios

N_LABELLED, N_POOL = 160, 2400
FOLDER_SIZE = 1000


def huge_pool(effort: Effort) -> list[Row]:
    """A pool of 1,000,000 files against one of 10,000: time and peak memory of `rank`."""
    n_huge, n_small = effort.images(1_000_000), effort.images(10_000, least=500)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        labelled = small_jpegs(root / "labelled", N_LABELLED, seed=1)
        base = small_jpegs(root / "base", 500)
        commands = {
            name: rank_command(labelled, {"pool": linked_pool(root / name, base, n)}, "none")
            for name, n in (("small", n_small), ("huge", n_huge))
        }
        costs = interleaved(commands, effort.rounds(3), cost)
    found = {
        (name, key): [getattr(one, key) for one in many]
        for name, many in costs.items()
        for key in ("elapsed_s", "peak_mb")
    }
    middle = {key: statistics.median(values) for key, values in found.items()}
    what, against = f"rank, pool of {n_huge:,} files", f"pool of {n_small:,} files"
    peaks = found["huge", "peak_mb"]
    return [
        Row(
            f"{what}: time",
            against,
            *ratios(found["huge", "elapsed_s"], found["small", "elapsed_s"]),
            f"{middle['huge', 'elapsed_s']:.2f} / {middle['small', 'elapsed_s']:.2f} s",
            at_most=1.5,
            note="Hard links, 1000 to a folder; each run a process of its own, no cache.",
        ),
        Row(
            f"{what}: peak memory",
            against,
            *ratios(peaks, found["small", "peak_mb"]),
            f"{middle['huge', 'peak_mb']:.0f} / {middle['small', 'peak_mb']:.0f} MB",
            at_most=1.2,
        ),
        Row(
            f"{what}: peak memory",
            "the limit",
            middle["huge", "peak_mb"],
            min(peaks),
            max(peaks),
            f"{middle['huge', 'peak_mb']:.0f} MB",
            at_most=600,
            unit=" MB",
        ),
    ]


def linked_pool(folder: Path, base: Path, n_files: int) -> Path:
    """A folder of so many files, all of them hard links to the few of another one."""
    # As strings: a million paths take long enough to link.
    originals = [str(path) for path in sorted(base.iterdir())]
    for start in range(0, n_files, FOLDER_SIZE):
        part = folder / f"{start // FOLDER_SIZE:05}"
        part.mkdir(parents=True)
        for number in range(start, min(start + FOLDER_SIZE, n_files)):
            os.link(originals[number % len(originals)], f"{part}/{number:07}.jpg")
    return folder


def second_run(effort: Effort) -> list[Row]:
    """`rank` of five pools a second time: every image is in the cache."""
    first, second = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        n_pool = effort.images(N_POOL, least=100)
        labelled, pools = five_pools(root / "pools", N_LABELLED, n_pool)
        for round_ in range(effort.rounds(7)):
            command = rank_command(labelled, pools, root / f"cache{round_}")
            first.append(cost(command).elapsed_s)
            second.append(cost(command).elapsed_s)
    return [
        Row(
            f"rank of five pools of {n_pool} files, second run",
            "first run, with an empty cache",
            *ratios(second, first),
            f"{statistics.median(second):.2f} / {statistics.median(first):.2f} s",
            at_most=0.15,
            note="Whole processes, with the start of Python and the statistics.",
        )
    ]


def chosen_view(effort: Effort) -> list[Row]:
    """`rank` of five pools of photographs: the view is chosen, against 96 pixels."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        labelled, pools = five_pools_of_photographs(root)
        spent = {(name, run): [] for name in ("auto", "96 px") for run in ("first", "second")}
        for round_ in range(effort.rounds(3)):
            for name, options in (("auto", []), ("96 px", ["--resolution", "96"])):
                command = rank_command(labelled, pools, root / f"cache{round_} {name}") + options
                for run in ("first", "second"):
                    spent[name, run].append(cost(command))
    rows = []
    for run, limit in (("first", 3.0), ("second", 1.2)):
        for what, key in (("time", "elapsed_s"), ("processor time", "cpu_s")):
            own, other = (
                [getattr(one, key) for one in spent[name, run]] for name in ("auto", "96 px")
            )
            rows.append(
                Row(
                    f"rank of five pools of 300-pixel photographs, {run} run: {what}",
                    "--resolution 96",
                    *ratios(own, other),
                    f"{statistics.median(own):.1f} / {statistics.median(other):.1f} s",
                    at_most=limit,
                    note="60 labelled photographs of seven breeds; the depth is chosen in both.",
                )
            )
    return rows


MOST_CHOICE_S = 5.0
"""Processor seconds that the choice of the view may take on 60 photographs."""


def view_choice(effort: Effort) -> list[Row]:
    """What the choice of the view costs on 60 photographs, and the memory of a scan in that view.

    The choice: `train` without a pool and without a cache, against the same in the view that is
    chosen. The scan: `filter` of 300 photographs, against the same at 96 pixels.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        labelled, pools = five_pools_of_photographs(root)
        mixmood, no_cache = [sys.executable, "-m", "mixmood"], ["--cache", "none"]
        train = [*mixmood, "train", str(labelled), "--out", str(root / "run"), "--resume"]
        scan = [*mixmood, "filter", str(labelled), str(pools["breeds"]), "--no-probe"]
        scan += ["--out", str(root / "kept.csv")]
        commands = {
            "chosen": train + no_cache,
            "fixed": [*train, *no_cache, "--resolution", "224", "--depth", "last"],
            "scan": scan + no_cache,
            "scan at 96 px": [*scan, *no_cache, "--resolution", "96"],
        }
        costs = interleaved(commands, effort.rounds(3), cost)
    spent = [
        one.cpu_s - other.cpu_s for one, other in zip(costs["chosen"], costs["fixed"], strict=True)
    ]
    peaks, less = ([one.peak_mb for one in costs[name]] for name in ("scan", "scan at 96 px"))
    return [
        Row(
            "choice among nine views on 60 photographs: processor time",
            f"{MOST_CHOICE_S:g} s",
            *ratios(spent, [MOST_CHOICE_S] * len(spent)),
            f"{statistics.median(spent):.1f} s",
            at_most=1,
            note="train without a pool, minus the same in a fixed view.",
        ),
        Row(
            "filter of 300 photographs in the chosen view: peak memory",
            "--resolution 96",
            *ratios(peaks, less),
            f"{statistics.median(peaks):.0f} / {statistics.median(less):.0f} MB",
            at_most=1.2,
        ),
    ]


AS_MANY_AS_CORES = """
import sys
from contextlib import nullcontext
import mixmood.api.train, mixmood.api.view_choice
from mixmood.cli.main import main
for module in (mixmood.api.train, mixmood.api.view_choice):
    module.threadpool_limits = lambda *_, **__: nullcontext()
main()
"""
"""The program without its limit on the threads of BLAS."""
KINDS = 10  # classes of the features that `threads_of_blas` makes


def threads_of_blas(effort: Effort) -> list[Row]:
    """Commands on features, against the same with as many threads of BLAS as there are cores."""
    rng = np.random.default_rng(0)
    n_pool, sizes = effort.images(5000, least=300), (600, effort.images(2000, least=100))
    centres = 0.5 * rng.normal(size=(KINDS, 1280))

    def features_of(codes: NDArray[np.intp]) -> NDArray[np.float32]:
        moved = centres[codes] + rng.normal(size=(len(codes), 1280))
        return np.maximum(moved, 0).astype(np.float32)

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        np.save(root / "pool.npy", features_of(rng.integers(KINDS, size=n_pool)))
        for n_labelled, what in zip(sizes, ("filter", "rank"), strict=True):
            codes, labelled = np.arange(n_labelled) % KINDS, root / f"{n_labelled}.npz"
            np.savez(labelled, features=features_of(codes), labels=codes)
            words = [what, str(labelled), str(root / "pool.npy"), "--cache", "none"]
            words += ["--out", str(root / "kept.csv")] if what == "filter" else []
            commands = {
                "one": [sys.executable, "-m", "mixmood", *words],
                "all": [sys.executable, "-c", AS_MANY_AS_CORES, *words],
            }
            costs = interleaved(commands, effort.rounds(5), cost)
            for name, key in (("processor time", "cpu_s"), ("time", "elapsed_s")):
                own, other = ([getattr(c, key) for c in costs[one]] for one in ("one", "all"))
                rows.append(
                    Row(
                        f"{what}, {n_labelled} labelled features: {name}",
                        "as many threads of BLAS as cores",
                        *ratios(own, other),
                        f"{statistics.median(own):.1f} / {statistics.median(other):.1f} s",
                        at_most=1,
                    )
                )
    return rows


def help_text(effort: Effort) -> list[Row]:
    """`mixmood --help` against the import of typer, the command-line library."""
    commands = {
        "help": [sys.executable, "-m", "mixmood", "--help"],
        "typer": [sys.executable, "-c", "import typer"],
    }
    costs = interleaved(commands, effort.rounds(15), cost)
    times = {name: [one.elapsed_s for one in many] for name, many in costs.items()}
    middle = {name: 1000 * statistics.median(found) for name, found in times.items()}
    return [
        Row(
            "mixmood --help",
            'python -c "import typer"',
            *ratios(times["help"], times["typer"]),
            f"{middle['help']:.0f} / {middle['typer']:.0f} ms",
            at_most=2,
        )
    ]
